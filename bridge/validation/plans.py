"""The plans of `validate` and `build`, which the engine runs: `plans.yaml`, compiled.

    validate   change -> each validator, side by side -> again -> verdict

    build      start -> brief -> build -> change -> each validator -> again -> verdict
               verdict -> brief       it is rejected, and a round is left
               verdict -> architect -> brief, once
               verdict -> person -> outcome -> brief, with what the person said
               verdict -> task        what is left is handed over
               outcome -> commit -> committed      in a worktree of its own

`again` reads the change once more: what was written while validators looked has been
seen by none of them. `committed` does so after the commit, for what they approved.
What `change` reads, and whom it chooses, is kept as its result: a run that goes on
after a kill sees the same. A validator that was not chosen is skipped; one that fails
is a report without an approval, and the others go on. Of those that are asked together
the first is asked for all of them, and the others are skipped.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents.yaml_source import read_tree
from bridge.policy.condition_compiler import compile_condition
from bridge.policy.condition_text import compile_text
from bridge.validation.names import BUILD, VALIDATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bridge.flow.details import ValidatorNode
    from bridge.flow.plan import Code, Plan
    from bridge.validation.look import Look, Validator, Work

    Json = dict[str, Any]

_FILE = Path(__file__).with_name("plans.yaml")
_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME = 60
# Where the validators stand among the steps.
_VALIDATORS = "validators"
_OF_A_NODE = ("kind", "var", "on_failure", "takes")
_ESCALATED = {
    "architect": ("to the architect", "to a person"),
    "human": ("to a person",),
    "coordinator": ("to the coordinator",),
}


def validate_plan(look: Look, scope: dict[str, Any]) -> Plan:
    """The plan that has a change looked at."""
    steps = _Steps(look, {"scope": scope}, {VALIDATE})
    return steps.plan(VALIDATE, "steps.verdict.output.validation")


def build_plan(look: Look, work: Work) -> Plan:
    """The plan that builds something, and has it looked at."""
    wanted = {f"escalated {each}" for each in _ESCALATED.get(work.escalate_to, ())}
    given = work._asdict() | {
        "building": f"{work.agent}: build",
        "digests": [*work.digests] or None,
        "more_rounds": work.rounds - 1 or None,
        "since": _code("steps.start.output"),
    }
    if work.in_worktree:
        wanted.add("worktree")
        given["folder"] = _code("steps.worktree.output.folder")
        given["message"] = work.task.strip().partition("\n")[0][:72]
    return _Steps(look, given, {BUILD, *wanted}).plan(BUILD, "steps.outcome.output")


@cache
def _written() -> Json:
    """The steps as the file has them."""
    tree = read_tree(_FILE.read_text("utf-8"), _FILE)
    found: Json = tree.value
    return found


class _Steps:
    """The steps of a plan, with what is known when it is made."""

    def __init__(self, look: Look, given: Json, wanted: set[str]) -> None:
        names = _names(look.validators)
        known = {each.agent: _known(each, names) for each in look.validators}
        given = {**look._asdict(), "validators": known, **given}
        self.nodes: Json = {}
        self.details: Json = {}
        for name, step in _written().items():
            if not wanted.issuperset(step.get("of", ())):
                continue
            if name != _VALIDATORS:
                self._add(name, step, names.values(), given)
                continue
            for each in look.validators:
                self._add(names[each.agent], step, (), given | _given_to(each, given))

    def _add(
        self, name: str, step: Json, validators: Iterable[str], given: Json
    ) -> None:
        found = _filled(step, given)
        node = {key: found.pop(key) for key in _OF_A_NODE if key in found}
        after = found.pop("after", ())
        lists = (validators if each == _VALIDATORS else (each,) for each in after)
        sources = (one for each in lists for one in each if one in self.nodes)
        node["in"] = [(source, None) for source in sources]
        if (condition := found.pop("if", None)) is not None:
            node["if"] = _code(condition) if isinstance(condition, str) else condition
        if "max" in (back := found.pop("back", {})):
            body = ("brief", name)
            node["back"] = [{"to": "brief", **back, "body": body}]
            node["back"][0]["when"] = _code(back["when"])
        found.pop("of", None)
        self.nodes[name], self.details[name] = node, found

    def plan(self, name: str, outputs: str) -> Plan:
        """The whole plan."""
        return {
            "schemaVersion": 2,
            "name": name,
            "source": "",
            "nodes": self.nodes,
            "out": [([*self.nodes][-1], None)],
            "inputs": {},
            "agents": {},
            "details": self.details,
            "flows": {},
            "outputs": _code(outputs),
        }


def _filled(value: Any, given: Json) -> Any:
    """A value of a step: what is known put in, the rest compiled; no nulls."""
    match value:
        case str() if value.startswith("$") and value[1:].isidentifier():
            return given.get(value[1:])
        case str():
            return compile_text(value).code
        case dict():
            filled = {key: _filled(each, given) for key, each in value.items()}
            found = {key: each for key, each in filled.items() if each is not None}
            if isinstance(arguments := found.get("arguments"), dict):
                pairs = arguments.items()
                found["arguments"] = [
                    "map",
                    0,
                    *(one for pair in pairs for one in pair),
                ]
            return found
    return value


def _given_to(each: Validator, given: Json) -> Json:
    """What is known of a validator; its name is a constant, no part of a condition."""
    change = _code("steps.change.output")
    wanted: Json = {}
    if each.part is not None:
        # It may be the one that is asked for several.
        joined = ["get_or", 0, ["get", 0, change, "joined"], each.agent, ["map", 0]]
        usual = {"timeout_s": each.timeout_s, "schema": None, "model": None}
        wanted = {name: ["get_or", 0, joined, name, usual[name]] for name in usual}
    return {
        "agent": each.agent,
        "timeout_s": each.timeout_s,
        "model": None,
        **wanted,
        "prompt": ["get", 0, ["get", 0, change, "prompts"], each.agent],
        "is_asked": ["compare", 0, each.agent, "in", ["get", 0, change, "asked"]],
        # The project, unless what is looked at had to be checked out.
        "place": given.get("folder") or ["get", 0, change, "folder"],
        "digests": [*each.digests] or None,
    }


def _names(validators: Sequence[Validator]) -> dict[str, str]:
    """The nodes of the validators, by their agents."""
    reserved = _written().keys() - {_VALIDATORS}
    found: dict[str, str] = {}
    for number, each in enumerate(validators, 1):
        name = _ODD.sub("-", each.agent)[:_MAX_NAME]
        is_taken = name in reserved or name in found.values()
        found[each.agent] = f"{name}-{number}" if is_taken else name
    return found


def _known(each: Validator, names: Mapping[str, str]) -> ValidatorNode:
    known: ValidatorNode = {
        "node": names[each.agent],
        "mustVerify": each.must_verify,
        "canRead": each.can_read,
        "runsCommands": each.runs_commands,
        "timeoutS": each.timeout_s,
    }
    if each.part is not None:
        known["part"] = each.part
    if each.alone:
        known["alone"] = each.alone
    return known


def _code(condition: str) -> Code:
    return compile_condition(condition).code
