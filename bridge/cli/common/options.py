"""The options of `ask` and `submit`, and those that many commands share.

Quick to import: `ask` starts its model as soon as the options are known, while the rest
is still being imported.
"""

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any, NamedTuple

from bridge.cli.screen.durations import duration
from bridge.cli.screen.numbers import number

# The short form of an option, the same in every command.
SHORT = {
    "--all": "-a",
    "--directory": "-C",
    "--dry-run": "-n",
    "--help": "-h",
    "--json": "-j",
    "--model": "-m",
    "--out": "-o",
    "--route": "-r",
    "--schema": "-s",
    "--timeout": "-t",
    "--watch": "-w",
    "--yes": "-y",
}


class Option(NamedTuple):
    """An option or an argument, as `ArgumentParser.add_argument` takes it.

    `heading` is the part of the help that lists it. `apart`: options with the same word
    here exclude each other. `completes` names what a shell offers for its value.
    """

    names: tuple[str, ...]
    settings: dict[str, Any]
    heading: str = "Options"
    apart: str = ""
    completes: str = ""

    @property
    def is_flag(self) -> bool:
        """Whether it has a name on the command line."""
        return self.names[0].startswith("-")

    def is_given(self, found: Any) -> bool:
        """Whether the words that were read have it, and not just its default."""
        dest = self.names[-1].lstrip("-").replace("-", "_")
        value = getattr(found, self.settings.get("dest", dest))
        return value not in (None, False, self.settings.get("default"))


def option(
    name: str,
    *,
    heading: str = "Options",
    apart: str = "",
    completes: str = "",
    **settings: Any,
) -> Option:
    """An option with a value, or, by a name without dashes, an argument."""
    names = (SHORT[name], name) if name in SHORT else (name,)
    return Option(names, settings, heading, apart, completes)


def switch(name: str, **settings: Any) -> Option:
    """An option without a value."""
    return option(name, **settings, action="store_true")


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


def timeout(help_: str, *, least_s: float | None = None, **more: Any) -> Option:
    """The option `--timeout`: a length of time, in seconds to the program."""
    type_ = duration(least_s=least_s)
    more |= {"dest": "timeout_s", "metavar": "TIME", "type": type_, "help": help_}
    return option("--timeout", **more)


AS_JSON = switch(
    "--json", dest="as_json", apart="form", help="Print JSON, one object per line."
)
MERMAID = switch(
    "--mermaid", apart="form", help="For graph: in Mermaid's language, for pages."
)
AS_TEXT = switch(
    "--text",
    dest="as_text",
    apart="form",
    help="Print the bare summary, or the bare answer, for pipes.",
)
ACCEPT_DEGRADED = switch(
    "--accept-degraded",
    help="Exit with 0, not 7, for an answer of a small model, or of another model than "
    "the one that was wanted.",
)
_ID: dict[str, Any] = {"metavar": "ID", "help": "The id that `submit` printed."}
ID = option("request_id", completes="ids", **_ID)
IDS = option("ids", nargs="*", completes="ids", **_ID | {"metavar": "ID..."})
ALL = switch("--all", help="All that wait or run in this project.")
ONE_SESSION = option(
    "--session", metavar="ID", completes="sessions", help="Only in this session."
)
# Of every command; `hostbridge -C DIR COMMAND` works, too.
COMMON = (
    option(
        "--directory",
        metavar="DIR",
        action="append",
        default=[],
        completes="directory",
        help="Run in this folder; paths are relative to it.",
    ),
    switch("--no-color", help="Print without colour, as NO_COLOR=1 does."),
    switch("--help", help="Show this help."),
)

# What `ask` and `submit` have in common.
_WHAT, WHO, _REQUEST = "The question", "Who answers", "The request"
SESSION = option(
    "--session",
    metavar="ID",
    heading=WHO,
    completes="sessions",
    help="Only this Claude Code session may take it.",
)
NO_WAIT_QUOTA = option(
    "--no-wait-quota",
    dest="wait_quota",
    action="store_const",
    const=False,
    heading=_REQUEST,
    help="Fail at a usage limit at once, instead of waiting for its end until the "
    "deadline.",
)
QUESTION = (
    option(
        "words",
        metavar="[AGENT] PROMPT|-",
        nargs="*",
        completes="agents",
        help="The agent (general-purpose by default), and the prompt in quotes; - "
        "reads the prompt from stdin.",
    ),
    option(
        "--schema",
        metavar="SCHEMA",
        heading=_WHAT,
        completes="file",
        help="What the answer must satisfy: a JSON Schema in a file, the schema "
        "itself, or module:Class, a pydantic model, which is imported.",
    ),
    option(
        "--set",
        dest="arguments",
        metavar="NAME=VALUE",
        heading=_WHAT,
        action="append",
        help="An argument for the agent; NAME:=JSON for what is not text. May be "
        "repeated.",
    ),
    option(
        "--var",
        dest="variables",
        metavar="NAME=VALUE",
        heading=_WHAT,
        action="append",
        help="A variable of the agent, instead of its definition's; NAME:=JSON for "
        "what is not text, NAME:=null to switch it off. May be repeated.",
    ),
    option(
        "--node",
        metavar="FILE::NAME",
        heading=_WHAT,
        completes="file",
        help="The piece of source code it is about: src/app.py::Class.method, or a "
        "file.",
    ),
    option(
        "--route",
        metavar="ROUTE",
        heading=WHO,
        default="auto",
        completes="routes",
        help="host (an open session), claude (claude -p), local (a model on this "
        "machine), endpoint (a model server), or auto, the default: what the agent's "
        "definition says, or an open session.",
    ),
    option(
        "--mode",
        heading=WHO,
        choices=("terminal", "headless"),
        help="As an agent of an open session (terminal), or as a process of its own "
        "(headless); by default as its workflow or its definition says.",
    ),
    option(
        "--workflow",
        metavar="KEY",
        heading=WHO,
        help="The step workflow that the agent works through, by its key in the "
        "definition's `workflows`.",
    ),
    option(
        "--model",
        metavar="MODEL",
        heading=WHO,
        completes="models",
        help="haiku, sonnet, opus or fable, where Claude answers; a GGUF file on the "
        "route local; openai:NAME on the route endpoint. By default the agent's, or "
        "the session's own.",
    ),
    SESSION,
    switch(
        "--may-ask",
        heading=WHO,
        help="The agent may end with a question to you: on a terminal it is asked "
        "there, and `hostbridge reply` replies. Otherwise its definition says.",
    ),
    option(
        "--continue",
        dest="continues",
        metavar="ID",
        heading=WHO,
        completes="ids",
        help="Ask the agent that answered this request, in the same conversation; "
        "options you omit keep that request's values. Refused if that agent cannot be "
        "asked.",
    ),
    option(
        "--context",
        heading=WHO,
        choices=("session",),
        help="Ask a fork of the open session: it knows the whole conversation, and "
        "leaves no trace in it. Off until `hostbridge config set --project "
        "share_conversation true`.",
    ),
    option(
        "--answer-to-host",
        action="store_true",
        heading=WHO,
        help="Let the open session read the answer, too.",
    ),
    timeout(
        "How long until the deadline; by default the agent's own, or 2m.",
        heading=_REQUEST,
    ),
    option(
        "--priority",
        heading=_REQUEST,
        choices=("high", "normal", "low"),
        help="Which requests go first; by default as the agent's definition says, or "
        "normal.",
    ),
    option(
        "--task-id",
        metavar="ID",
        heading=_REQUEST,
        help="The task that it is about, such as '#42', which then needs no prompt; or "
        "an id of yours. Comes back with the answer.",
    ),
    option(
        "--dedup-key",
        metavar="KEY",
        heading=_REQUEST,
        help="Asking again with the same key finds the same request, running or "
        "answered. A different question with that key is refused.",
    ),
    option(
        "--max-attempts",
        metavar="N",
        heading=_REQUEST,
        type=number(1, 100),
        help="How many attempts, in all, where one fails for a reason that may pass, "
        "with growing pauses; by default as the agent's definition says, or 2.",
    ),
    NO_WAIT_QUOTA,
)
