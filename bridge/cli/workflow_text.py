"""Workflows as text: the list of all, and one with what it takes and does."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from bridge.cli.exit_codes import Exit
from bridge.cli.nested_files import complain_of_nested
from bridge.cli.output import complain, prose, say, say_json, visible
from bridge.cli.screen import Styled, cut, screen_of, wrapped
from bridge.flow.drawing import bare
from bridge.pipelines.workflow_files import SUFFIXES
from bridge.protocol.names import OF_TASK
from bridge.protocol.wording import fitted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.api.workflow_checks import Workflow, WorkflowChecks
    from bridge.cli.screen import Line

_FURTHER = " " * 4
_MAX_SHOWN = 60


def list_workflows(workflows: WorkflowChecks, *, as_json: bool) -> int:
    """Print every workflow that has a name; returns the exit code."""
    known = [*workflows.known()]
    width = screen_of(sys.stdout).width
    for each in known:
        if as_json:
            say_json(_value(each))
        else:
            say(*_lines(each, width, is_short=True))
    complain_of_nested(workflows.files.folders.values(), SUFFIXES)
    if not all(each.trusted for each in known):
        complain("what is not trusted is used only after: hostbridge trust")
    return Exit.OK if all(each.is_sound for each in known) else Exit.FAILED


def show_workflow(found: Workflow, *, as_json: bool) -> None:
    """Print what a workflow takes, and what its steps do."""
    if as_json:
        say_json(_value(found))
        return
    width = screen_of(sys.stdout).width
    say(*_lines(found, width))
    says = {}
    if found.pipeline is not None:
        steps = found.pipeline.steps
        says = {s.id: cut(bare(s.detail.get("says", "")), _MAX_SHOWN) for s in steps}
    number = max(map(len, found.steps), default=0)
    for step in found.steps:
        line = f"{step:<{number}}  {says.get(step, '')}".rstrip()
        say(*wrapped(visible(_FURTHER + line), width, below=_FURTHER * 2))


def _lines(
    found: Workflow, width: int | None, *, is_short: bool = False
) -> Iterator[Line]:
    """A workflow: its name, what it does, what it takes; or why it cannot be used.

    In a list, without the variables of a step workflow: most are not to be set by
    whoever begins it.
    """
    marks = [found.place, "pipeline" if found.kind == "pipeline" else "steps"]
    marks += [] if found.trusted else ["not trusted"]
    yield Styled(visible(found.name), "bold"), f"  ({', '.join(marks)})"
    told = [*visible(_said(found), kept="\n").splitlines()]
    option = "--param" if found.kind == "pipeline" else "variable"
    if found.kind != "pipeline" and any(name in found.inputs for name in OF_TASK):
        told.append("--param task=… The task, such as #42 (required)")
    is_left_out = is_short and found.kind != "pipeline"
    for name, each in ({} if is_left_out else found.inputs).items():
        is_wanted = each.get("required")
        default = "required" if is_wanted else f"default: {_short(each.get('default'))}"
        about = f"{each['description']} " if each.get("description") else ""
        told.append(prose(f"{option} {name}=… {about}({default})"))
    for line in told:
        yield from wrapped(_FURTHER + line, width, below=_FURTHER * 2)


def _said(found: Workflow) -> str:
    if found.problem:
        return found.problem
    wrong = [str(each) for each in found.problems if each.level == "error"]
    return "\n".join(wrong) or found.description


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return fitted(text, _MAX_SHOWN)


def _value(found: Workflow) -> dict[str, Any]:
    return {
        "name": found.name,
        "from": found.place,
        "file": found.file,
        "kind": found.kind,
        "description": found.description,
        "inputs": found.inputs,
        "steps": found.steps,
        "trusted": found.trusted,
        "problem": None if found.is_sound else _said(found),
    }
