"""Which `.pym` scripts of a definition the sandbox can read; nothing of them runs.

Source: pydantic-monty, `MontySession.feed_start`, `Monty{Syntax,Runtime}Error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.problem import Problem
from bridge.errors import ExtraMissing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# The sandbox reads a script as a whole, and begins with what stands first: a name that
# it has to ask for, whereupon it waits. Nobody answers.
_STOP = "__hostbridge_reads_only__\n"


def script_problems(codes: Mapping[Path, str]) -> Iterator[Problem]:
    """What keeps each script from being one, at its line: an error a file at most.

    `codes` is what each file holds.

    Raises:
        ExtraMissing: pydantic-monty is not installed; nobody can tell.
    """
    if not codes:
        return
    try:
        import pydantic_monty as monty
    except ImportError:
        raise ExtraMissing("local", "pydantic-monty") from None
    with monty.Monty(max_processes=1) as workers:
        for path, code in codes.items():
            try:
                with workers.checkout(script_name=path.name) as session:
                    session.feed_start(_STOP + code)
            except monty.MontyError as exc:
                yield Problem(path, _line(exc), (), f"not a script: {_reason(exc)}")


def _line(exc: Any) -> int:
    frames = exc.traceback() if hasattr(exc, "traceback") else []
    return max(1, frames[-1].line - 1) if frames else 1


def _reason(exc: Any) -> str:
    """In the parser's own words, on one line."""
    words = exc.display("msg") if hasattr(exc, "traceback") else str(exc)
    return " ".join(words.split())
