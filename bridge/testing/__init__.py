"""Test a program against every answer that its schema allows.

    from bridge.testing import every_answer

    @every_answer
    def test_my_program():
        assert my_program() in ("merged", "held", "nobody answered")

Names are loaded when first used: Hypothesis, which comes with the extra `testing`, is
needed for some of them only. `bridge.testing.stage` is the real Claude
Code client with a scripted model, for authors of hooks and plugins. Nothing that
hostbridge does at run time imports any of this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge.testing.block import Answering, Unscripted, answering
    from bridge.testing.every import every_answer
    from bridge.testing.outcome import CODES, Outcome, answer, asks, failure, says
    from bridge.testing.recorded import Replay, replay
    from bridge.testing.schema_values import values
    from bridge.testing.strategies import outcomes, scripts

__all__ = [
    "CODES", "Answering", "Outcome", "Replay", "Unscripted", "answer", "answering",
    "asks", "every_answer", "failure", "outcomes", "replay", "says", "scripts",
    "values",
]  # fmt: skip

_MODULES = {
    name: module
    for module, names in {
        "block": "Answering Unscripted answering",
        "every": "every_answer",
        "outcome": "CODES Outcome answer asks failure says",
        "strategies": "outcomes scripts",
        "recorded": "Replay replay",
        "schema_values": "values",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used.

    Raises:
        ExtraMissing: it takes Hypothesis, which is not installed.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        module = import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as exc:
        if exc.name != "hypothesis":
            raise
        from bridge.errors import ExtraMissing

        raise ExtraMissing("testing", "hypothesis", needed_for=name) from None
    return getattr(module, name)


def __dir__() -> list[str]:
    """The public names, also those that are not loaded yet."""
    return __all__
