"""The options of `ask` and `submit`, and those that many commands share."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

Words: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[AGENT] PROMPT|-",
        show_default=False,
        help="Which agent (general-purpose without one), and what to ask, in quotes; - "
        "reads it from stdin, as UTF-8.",
    ),
]
SchemaFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--schema", metavar="FILE", help="A JSON Schema that the answer must satisfy."
    ),
]
Timeout: TypeAlias = Annotated[
    float, typer.Option("--timeout", metavar="S", help="Seconds until the deadline.")
]
Lifetime: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="S",
        help="Seconds until the deadline; by default the agent's own, or 120.",
    ),
]
NodeSpec: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--node",
        metavar="FILE::NAME",
        help="The piece of source it is about, such as src/app.py::Class.method, or a "
        "whole file.",
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="M", help="haiku, sonnet, opus or fable; by default the session's own."
    ),
]
PriorityChoice: TypeAlias = Annotated[
    Literal["high", "normal", "low"] | None,
    typer.Option(help="What is taken first; by default the agent's own, or normal."),
]
TaskId: TypeAlias = Annotated[
    str | None, typer.Option(metavar="ID", help="Comes back in the answer.")
]
DedupKey: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="The same key finds the same request again; one that asks something "
        "else with it is refused.",
    ),
]
SessionId: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--session", metavar="ID", help="Only this Claude Code session may take it."
    ),
]
Route: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="R",
        help="auto, host (an open session), claude (claude -p), local or endpoint.",
    ),
]
Arguments: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An argument for the agent; NAME:=JSON for a value that is no text.",
    ),
]
Variables: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--var",
        metavar="NAME=VALUE",
        help="A variable of the agent; NAME:=JSON for a value that is no text, "
        "NAME:=null for off.",
    ),
]
AnswerToHost: TypeAlias = Annotated[
    bool,
    typer.Option("--answer-to-host", help="Let the open session read the answer, too."),
]
AcceptDegraded: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--accept-degraded",
        help="A small model's answer, or another model's than the one wanted, is good "
        "enough: end with 0, not with 7.",
    ),
]
Ids: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="ID", show_default=False, help="What `submit` printed."),
]
Id: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="ID", show_default=False, help="What `submit` printed."),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON, one object a line.")
]
