"""Flows and workflows on the screen: all that have a name, or one and what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents.library import FLOWS
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.inputs import read_words
from bridge.cli.common.output import complain, counted, prose, say, say_json, visible
from bridge.cli.definitions.definition_text import say_problems
from bridge.cli.definitions.nested_files import complain_of_nested
from bridge.cli.screen.screen import Styled, cells, cut, screen_of, wrapped
from bridge.errors import InvalidRequest
from bridge.flow.drawing import bare, drawing_of, graph_of, mermaid_of
from bridge.protocol.names import OF_TASK
from bridge.protocol.wording import fitted

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from bridge.agents.library import Found
    from bridge.api.flow_files import Flows
    from bridge.api.pipeline_files import Workflows
    from bridge.cli.screen.screen import Line
    from bridge.flow.drawing import Drawn
    from bridge.flow.plan import Plan

_FURTHER = " " * 4
# A pipe has no width.
_PAGE = 80
_MAX_SHOWN = 60
# Where a flow is from, as `flow list` says it.
_PLACES = {"project": ".bridge", "user": "~/.hostbridge", "built-in": "built-in"}
_KINDS = {"flow": "", "pipeline": "a pipeline, ", "steps": "a step workflow, "}


def look_at(ours: Flows | Workflows, options: Namespace, words: list[str]) -> int:
    """List, check, show or draw; returns the exit code."""
    what, kind = options.what, ours.files.kind
    stdin = "|-" if kind is FLOWS else ""
    if bool(words) == (what == "list"):
        wrong = f"{what} needs a {kind.what}"
        wrong = f"list takes no {words[0]!r}" if words else wrong
        way = f"{options.prog} {'check' if words else what} FILE|NAME{stdin}"
        raise InvalidRequest(f"{wrong}; try: {way}")
    if what == "list":
        return _list(ours, as_json=options.as_json)
    code = Exit.OK
    given: tuple[Any, ...]
    for word in words:
        if stdin and word == "-":
            given = (Path("stdin"), read_words(None, f"the {kind.what}"))
        else:
            given = (ours.files.file_of(word, here=True),)
        if what == "graph":
            say_graph(ours.plan(*given), options)
        elif what == "show":
            _show(ours.look(*given), as_json=options.as_json)
        elif _check(ours.look(*given), options):
            code = Exit.FAILED
    return code


def _list(ours: Flows | Workflows, *, as_json: bool) -> int:
    known = [*ours.known()]
    width = screen_of(sys.stdout).width
    for each in known:
        if as_json:
            say_json(_value(each))
        else:
            say(*_lines(each, width, is_short=True))
    kind = ours.files.kind
    complain_of_nested(ours.files.folders.values(), kind.suffixes)
    if not all(each.trusted for each in known):
        does = "runs" if kind is FLOWS else "is used"
        complain(f"what is not trusted {does} only after: hostbridge trust")
    return Exit.FAILED if any(each.wrong for each in known) else Exit.OK


def _check(found: Found, options: Namespace) -> bool:
    """Say what is wrong with a file; returns whether it has errors."""
    counts = say_problems(options, found.problems, has_columns=True)
    if not options.as_json:
        kind = _KINDS[found.kind]
        if kind and found.errors and not found.steps:
            # What kind it was to be is not known.
            kind = "a workflow, "
        steps = f"{counted(len(found.steps), 'step')}, " if kind or found.steps else ""
        say(f"{visible(str(found.file))}: {kind}{steps}{counts}")
    return bool(found.errors)


def _show(found: Found, *, as_json: bool) -> None:
    """Print what a workflow takes, and what its steps do."""
    if as_json:
        say_json(_value(found))
        return
    width = screen_of(sys.stdout).width
    say(*_lines(found, width))
    says = {}
    if found.kind == "pipeline":
        steps = found.content.steps
        says = {s.id: cut(bare(s.detail.get("says", "")), _MAX_SHOWN) for s in steps}
    number = max(map(len, found.steps), default=0)
    for step in found.steps:
        line = f"{step:<{number}}  {says.get(step, '')}".rstrip()
        say(*wrapped(visible(_FURTHER + line), width, below=_FURTHER * 2))


def _lines(
    found: Found, width: int | None, *, is_short: bool = False
) -> Iterator[Line]:
    """A file: its name, what it does, what it takes; or why it cannot be used.

    In a list, without the variables of a step workflow: most are not to be set by
    whoever begins it.
    """
    marks = [_place(found)] if found.kind == "flow" else [_place(found), found.kind]
    marks += [] if found.trusted else ["not trusted"]
    yield Styled(visible(found.name), "bold"), f"  ({', '.join(marks)})"
    told = visible(found.wrong or found.description, kept="\n").splitlines()
    is_steps = found.kind == "steps"
    if is_steps and any(name in found.inputs for name in OF_TASK):
        told.append("--param task=… The task, such as #42 (required)")
    for name, each in ({} if is_short and is_steps else found.inputs).items():
        is_wanted = each.get("required")
        default = "required" if is_wanted else f"default: {_short(each.get('default'))}"
        about = f"{each['description']} " if each.get("description") else ""
        option = "variable" if is_steps else "--param"
        told.append(prose(f"{option} {name}=… {about}({default})"))
    for line in told:
        yield from wrapped(_FURTHER + line, width, below=_FURTHER * 2)


def _place(found: Found) -> str:
    if found.kind == "flow":
        return _PLACES[found.layer or "user"]
    return found.layer or "file"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return fitted(text, _MAX_SHOWN)


def _value(found: Found) -> dict[str, Any]:
    value = {
        "name": found.name,
        "from": _place(found),
        "file": found.file,
        "description": found.description,
        "trusted": found.trusted,
        "problem": found.wrong or None,
    }
    if found.kind == "flow":
        return value | {"params": found.content.head.params if found.content else ()}
    return value | {"kind": found.kind, "inputs": found.inputs, "steps": found.steps}


def say_graph(plan: Plan, options: Namespace) -> None:
    """Print the graph in the form that `--json` or `--mermaid` asks for, or drawn."""
    if options.as_json:
        say_json(graph_of(plan))
    elif options.mermaid:
        say(*mermaid_of(plan))
    else:
        say(*fitting(plan, screen_of(sys.stdout).width))


def fitting(plan: Plan, width: int | None) -> Iterator[str]:
    """The drawing, line by line."""
    return (_fitted(line, width or _PAGE) for line in drawing_of(plan))


def _fitted(line: Drawn, width: int) -> str:
    """A line of a drawing: what a step makes is cut later than what it is asked."""
    room = width - cells(line.lead) - cells(line.end)
    return cut(str(line._replace(said=cut(line.said, max(1, room)))), width)
