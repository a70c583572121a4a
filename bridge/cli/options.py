"""The options of `ask` and `submit`, and those that many commands share.

Quick to import: `ask` starts its model as soon as the options are known, while the rest
is still being imported.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Option(NamedTuple):
    """An option or an argument, as `ArgumentParser.add_argument` takes it."""

    names: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def is_flag(self) -> bool:
        """Whether it has a name on the command line."""
        return self.names[0].startswith("-")


def option(*names: str, **settings: Any) -> Option:
    """An option with a value, or, by a name without dashes, an argument."""
    return Option(names, settings)


def switch(*names: str, **settings: Any) -> Option:
    """An option without a value."""
    return Option(names, settings | {"action": "store_true"})


def at_least(least: float) -> Callable[[str], float]:
    """The type of an option: a number that is not below `least`."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if value >= least:
            return value
        raise ArgumentTypeError(f"expected a number, {least:g} or more, got {text!r}")

    return number


def a_number(text: str) -> float:
    """The type of an option: any number."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a number, got {text!r}") from None


def timeout(
    help_: str, type_: Callable[[str], float] = a_number, **more: Any
) -> Option:
    """The option `--timeout`, in seconds."""
    more |= {"dest": "timeout_s", "metavar": "S", "type": type_, "help": help_}
    return option("--timeout", **more)


AS_JSON = switch("--json", dest="as_json", help="Print JSON, one object per line.")
NO_COLOUR = switch("--no-color", help="Print without colour, as NO_COLOR=1 does.")
ACCEPT_DEGRADED = switch(
    "--accept-degraded",
    help="Exit with 0, not 7, for an answer of a small model, or of another model than "
    "the one that was wanted.",
)
ID = option("request_id", metavar="ID", help="The id that `submit` printed.")
IDS = option("ids", metavar="ID", nargs="+", help="The id that `submit` printed.")
ONE_SESSION = option("--session", metavar="ID", help="Only in this session.")

# What `ask` and `submit` have in common.
QUESTION = (
    option(
        "words",
        metavar="[AGENT] PROMPT|-",
        nargs="*",
        help="The agent (general-purpose by default) and the prompt, in quotes; - "
        "reads the prompt from stdin, as UTF-8.",
    ),
    option(
        "--schema",
        metavar="FILE",
        type=Path,
        help="A JSON Schema that the answer must satisfy.",
    ),
    timeout("Seconds until the deadline; by default the agent's own, or 120."),
    option(
        "--route",
        metavar="R",
        default="auto",
        help="Who answers: host (an open session), claude (claude -p), local, "
        "endpoint, or auto, the default: what the agent's definition says, or an open "
        "session.",
    ),
    option(
        "--model",
        metavar="M",
        help="haiku, sonnet, opus or fable; by default the session's own.",
    ),
    option(
        "--priority",
        choices=("high", "normal", "low"),
        help="Which requests go first; by default as the agent's definition says, or "
        "normal.",
    ),
    option(
        "--set",
        dest="arguments",
        metavar="NAME=VALUE",
        action="append",
        help="An argument for the agent; NAME:=JSON for a value that is not text.",
    ),
    option(
        "--var",
        dest="variables",
        metavar="NAME=VALUE",
        action="append",
        help="A variable of the agent; NAME:=JSON for a value that is not text, "
        "NAME:=null to switch it off.",
    ),
    option(
        "--node",
        metavar="FILE::NAME",
        help="The piece of source code it is about, such as src/app.py::Class.method, "
        "or a whole file.",
    ),
    option("--task-id", metavar="ID", help="Comes back in the answer."),
    option(
        "--dedup-key",
        metavar="KEY",
        help="Asking again with the same key finds the same request, and shares how it "
        "ends: its answer, failure or cancellation. A different question with that key "
        "is refused.",
    ),
    option(
        "--session", metavar="ID", help="Only this Claude Code session may take it."
    ),
    switch("--answer-to-host", help="Let the open session read the answer, too."),
)
