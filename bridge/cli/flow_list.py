"""`hostbridge flow list`: every flow that has a name, and how to run it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from bridge.cli.exit_codes import Exit
from bridge.cli.nested_files import complain_of_nested
from bridge.cli.output import complain, prose, say, say_json, visible
from bridge.cli.screen import Styled, screen_of, wrapped
from bridge.flow.library import SUFFIX

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from bridge.api.flow_files import Flows, KnownFlow
    from bridge.cli.screen import Line

_FURTHER = " " * 4


def list_flows(flows: Flows, options: Namespace) -> int:
    """Print the list; returns the exit code."""
    known = [*flows.known()]
    width = screen_of(sys.stdout).width
    for each in known:
        if options.as_json:
            say_json(_value(each))
        else:
            say(*_lines(each, width))
    complain_of_nested(flows.folders.values(), {SUFFIX})
    if not all(each.trusted for each in known):
        complain("what is not trusted runs only after: hostbridge trust")
    return Exit.FAILED if any(each.problem for each in known) else Exit.OK


def _lines(flow: KnownFlow, width: int | None) -> Iterator[Line]:
    """A flow: its name, what it does, its parameters; or why it cannot run."""
    mark = "" if flow.trusted else ", not trusted"
    yield Styled(visible(flow.name), "bold"), f"  ({flow.place}{mark})"
    said = flow.problem or flow.head.description
    told = [*visible(said, kept="\n").splitlines()]
    for each in flow.head.params:
        default = "required" if each.default is None else f"default: {each.default}"
        name = f"--param {each.name}=…"
        told.append(prose(f"{name} {each.description} ({default})"))
    for line in told:
        yield from wrapped(_FURTHER + line, width, below=_FURTHER * 2)


def _value(flow: KnownFlow) -> dict[str, Any]:
    return {
        "name": flow.name,
        "from": flow.place,
        "file": flow.file,
        "description": flow.head.description,
        "params": flow.head.params,
        "trusted": flow.trusted,
        "problem": flow.problem or None,
    }
