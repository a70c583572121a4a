"""A flow that asks nobody: whom it would ask, what a file answers, how it would end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.yaml_source import read_tree
from bridge.api.compiled_runs import compiled
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.inputs import read_words
from bridge.cli.common.output import complain, indented, say, say_json, visible
from bridge.config import language
from bridge.engine.begin import new_run
from bridge.engine.rehearsal import Rehearsal
from bridge.errors import InvalidRequest
from bridge.flow.filling import as_text

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.api.bridge import Bridge

_ENDS = {"completed": "end well", "failed": "fail"}


def rehearse(
    bridge: Bridge,
    flow: str | Path,
    params: dict[str, Any],
    file: Path,
    *,
    as_json: bool,
) -> int:
    """Print each step and its answer, and how it would end; returns the exit code."""
    project = bridge.store.place.project
    plan, _ = compiled(bridge.settings, project, flow, params)
    run = new_run("dry", plan, {"params": params}, now_ms=0)
    rehearsal = Rehearsal(plan, run, _answers(file), language())
    for asked in rehearsal.go():
        if as_json:
            value = {"node": asked.node, "who": asked.who, "text": asked.text}
            say_json(value | {"answer": asked.answer})
        else:
            text = visible(asked.text or "(nothing)", kept="\n")
            say(f"{asked.node}  {asked.who}", indented(text))
            say(f"  says: {visible(_said(asked.answer))}")
    ended = rehearsal.run
    if as_json:
        say_json({"status": ended["status"], "why": ended["why"]})
    else:
        how = _ENDS.get(ended["status"], f"be {ended['status']}")
        why = f": {ended['why']}" if ended["why"] else ""
        complain(f"it would {how}{why}; nobody was asked")
    return Exit.OK if ended["status"] == "completed" else Exit.FAILED


def _said(answer: Any) -> str:
    if answer is None:
        return "(nothing: the file has no answer)"
    match answer:
        case {"status": status, "summary": summary, **rest} if not rest:
            text = as_text(summary)
            return text if status == "success" else f"{status}: {text}"
    return as_text(answer)


def _answers(file: Path) -> dict[str, Any]:
    # JSON is YAML, too.
    text = read_words(file, "the answers")
    tree = read_tree(text, file, keeps_source=True, may_be_empty=True)
    if tree.problems:
        raise InvalidRequest("\n".join(map(str, tree.problems)))
    if not isinstance(tree.value, dict):
        raise InvalidRequest(f"{file}: expected an object: agents, and their answers")
    return tree.value
