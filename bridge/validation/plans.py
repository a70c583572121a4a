"""The plans of `validate` and `build`, which the engine runs. Pure.

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
from typing import TYPE_CHECKING, Any

from bridge.policy.condition_compiler import compile_condition
from bridge.validation.names import (
    ADVICE,
    ARCHITECT,
    BRIEF,
    BUILD,
    BUILT,
    LAST,
    OUTCOME,
    SAID,
    VALIDATE,
    VERDICT,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.flow.details import ChangeCall, Detail, ValidatorNode
    from bridge.flow.plan import Code, Edge, Plan, PlanNode
    from bridge.validation.look import Look, Validator, Work

_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME = 60
# How often a person may have it built again.
_MOST_ADVICE = 100
_CHANGE = "steps.change.output"


def validate_plan(look: Look, scope: dict[str, Any]) -> Plan:
    """The plan that has a change looked at."""
    made = _Plan(VALIDATE)
    made.add_look(look, {"scope": scope}, "", {})
    return made.plan("verdict", "steps.verdict.output.validation")


def build_plan(look: Look, work: Work) -> Plan:
    """The plan that builds something, and has it looked at."""
    made = _Plan(BUILD)
    folder = None
    if work.in_worktree:
        folder = _value("steps.worktree.output.folder")
        arguments = ["map", 0, "name", BUILD]
        call: Any = {"action": "create", "arguments": arguments}
        made.add("worktree", "worktree", (), "make a worktree", {"worktree": call})
    place: Any = {} if folder is None else {"folder": folder}
    made.add("start", "change", made.last, "look at what is there", {"change": place})
    _add_builder(made, work, folder)
    call_of: Any = {"since": _value("steps.start.output"), **place}
    given = {"task": work.task, "rounds": work.rounds}
    given |= {"escalate_to": work.escalate_to}
    made.add_look(look, call_of, "build", given, folder)
    if work.rounds > 1:
        again = made.back("verdict", f"{_VERDICT} == 'build'", work.rounds - 1)
        made.node("verdict")["back"] = [again]
    _add_escalation(made, work)
    end = "outcome"
    if work.in_worktree:
        message = work.task.strip().partition("\n")[0][:72]
        arguments = ["map", 0, "worktree", folder, "message", message]
        call = {"action": "commit", "arguments": arguments}
        made.add("commit", "worktree", ("outcome",), "commit it", {"worktree": call})
        made.node("commit")["if"] = _code("steps.outcome.output.isApproved")
        seen: Any = {**call_of, "seen": _value(_CHANGE), "committed": True}
        says = "look whether that was committed"
        made.add("committed", "change", ("commit",), says, {"change": seen})
        # A person approves the files as they are.
        by_all = "steps.outcome.output.approvedBy == 'validators'"
        made.node("committed")["if"] = _code(by_all)
        end = "committed"
    return made.plan(end, "steps.outcome.output")


_VERDICT = "steps.verdict.output.next"


def _add_builder(made: _Plan, work: Work, folder: Code | None) -> None:
    made.add_tool(
        "brief", BRIEF, ("start",), "say what is to be built",
        task=work.task, rounds=work.rounds,
    )  # fmt: skip
    call: Any = {"agent": work.agent, "prompt": _value("steps.brief.output.prompt")}
    call |= {} if folder is None else {"cwd": folder}
    call |= {} if work.model is None else {"model": work.model}
    detail: Detail = {"agent": work.agent, "call": call}
    if work.model is not None:
        detail["model"] = work.model
    if work.digests:
        detail["digests"] = [*work.digests]
    made.add("build", "agent", ("brief",), f"{work.agent}: build", detail)
    made.node("build")["var"] = BUILT


def _add_escalation(made: _Plan, work: Work) -> None:
    sources = ["verdict"]
    if work.escalate_to == "architect":
        call: Any = {
            "agent": ARCHITECT,
            "prompt": _value("steps.verdict.output.advise"),
        }
        detail: Detail = {"agent": ARCHITECT, "call": call}
        made.add("architect", "agent", sources, "architect: what now?", detail)
        node = made.node("architect")
        node |= {"if": _code(f"{_VERDICT} == 'architect'"), "skip": "dead"}
        node |= {"on_failure": "skip", "var": ADVICE}
        is_done = "steps.architect.status == 'completed'"
        node["back"] = [made.back("architect", is_done, 1)]
        sources.append("architect")
    if work.escalate_to in ("human", "architect"):
        asks: Detail = {"prompt": _value("steps.verdict.output.question")}
        made.add("person", "approval", sources, "what a person says", asks)
        node = made.node("person")
        is_asked = f"{_VERDICT} == 'person' or steps.architect.status == 'failed'"
        node |= {"if": _code(is_asked), "skip": "dead", "on_failure": "skip"}
        node |= {"takes": "words", "var": SAID}
        sources.append("person")
    if work.escalate_to == "coordinator":
        made.add("task", "tool", sources, "hand it over as a task", {
            "tool": {
                "name": "create_task",
                "arguments": _value("steps.verdict.output.task"),
            }
        })  # fmt: skip
        made.node("task").update({"if": _code(f"{_VERDICT} == 'task'"), "skip": "dead"})
        sources.append("task")
    made.add_tool("outcome", OUTCOME, sources, "what came of it")
    is_advised = "steps.outcome.output.next == 'build'"
    again = made.back("outcome", is_advised, _MOST_ADVICE)
    made.node("outcome")["back"] = [again]


class _Plan:
    """A plan that is being made."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: dict[str, PlanNode] = {}
        self._details: dict[str, Detail] = {}

    @property
    def last(self) -> tuple[str, ...]:
        """The node that was added last, if any."""
        return tuple(self._nodes)[-1:]

    def node(self, name: str) -> PlanNode:
        """A node, to be changed."""
        return self._nodes[name]

    def add(
        self, name: str, kind: Any, sources: Sequence[str], says: str, detail: Detail
    ) -> None:
        """Add a node that runs once its sources have ended."""
        edges: list[Edge] = [(source, None) for source in sources]
        self._nodes[name] = {"kind": kind, "in": edges}
        self._details[name] = {"says": says, **detail}

    def add_tool(
        self, name: str, tool: str, sources: Sequence[str], says: str, **given: Any
    ) -> None:
        """Add a call of one of our tools, with constants."""
        arguments = ["map", 0, *(part for pair in given.items() for part in pair)]
        call: Any = {"name": tool, "arguments": arguments}
        self.add(name, "tool", sources, says, {"tool": call})

    def add_look(
        self,
        look: Look,
        call: ChangeCall,
        source: str,
        more: Mapping[str, Any],
        folder: Code | None = None,
    ) -> None:
        """Add the reading of a change, its validators, and their verdict."""
        names = self._names(look.validators)
        known = {each.agent: _known(each, names) for each in look.validators}
        call = {**call, "validators": known, "named": look.named}
        call["intent"] = look.intent
        if look.complexity is not None:
            call["complexity"] = look.complexity
        sources = (source,) if source else ()
        self.add("change", "change", sources, "read the change", {"change": call})
        for each in look.validators:
            self._add_validator(names[each.agent], each, folder)
        given = {"accept_degraded": look.accept_degraded, **more}
        asked = ("change", *names.values())
        reads = ("scope", "since", "folder")
        again: Any = {name: code for name, code in call.items() if name in reads}
        again["seen"] = _value(_CHANGE)
        self.add("again", "change", asked, "look whether it is the same", {
            "change": again,
        })  # fmt: skip
        # Nobody was asked, or it cannot be read any more: nothing is approved then.
        chosen = _value(f"{_CHANGE}.validators")
        node = self.node("again")
        node.update({"if": chosen, "skip": "dead", "on_failure": "skip"})
        asked = (*asked, "again")
        self.add_tool("verdict", VERDICT, asked, "the verdict of all", **given)
        self.node("verdict")["var"] = LAST

    def _add_validator(self, name: str, each: Validator, folder: Code | None) -> None:
        # A constant: no name is read as part of a condition.
        prompt = ["get", 0, _value(f"{_CHANGE}.prompts"), each.agent]
        call: Any = {
            "agent": each.agent,
            "prompt": prompt,
            "timeout_s": each.timeout_s,
        }
        if each.part is not None:
            # It may be the one that is asked for several.
            wanted = _value(f"{_CHANGE}.joined")
            joined = ["get_or", 0, wanted, each.agent, ["map", 0]]
            call["timeout_s"] = ["get_or", 0, joined, "timeout_s", each.timeout_s]
            call["schema"] = ["get_or", 0, joined, "schema", None]
            call["model"] = ["get_or", 0, joined, "model", None]
        # The project, unless what is looked at had to be checked out.
        call["cwd"] = _value(f"{_CHANGE}.folder") if folder is None else folder
        detail: Detail = {"agent": each.agent, "call": call}
        detail["context"] = _value(f"{_CHANGE}.context")
        if each.digests:
            detail["digests"] = [*each.digests]
        self.add(name, "agent", ("change",), each.agent, detail)
        asked = _value(f"{_CHANGE}.asked")
        self.node(name).update({
            "if": ["compare", 0, each.agent, "in", asked],
            "skip": "dead",
            "on_failure": "skip",
        })  # fmt: skip

    def _names(self, validators: Sequence[Validator]) -> dict[str, str]:
        """The nodes of the validators, by their agents."""
        found: dict[str, str] = {}
        for number, each in enumerate(validators, 1):
            name = _ODD.sub("-", each.agent)[:_MAX_NAME]
            is_taken = name in _RESERVED or name in found.values()
            found[each.agent] = f"{name}-{number}" if is_taken else name
        return found

    def back(self, source: str, when: str, most: int) -> Any:
        """A jump to where the builder is told what to do."""
        body = ("brief", source)
        return {"to": "brief", "when": _code(when), "max": most, "body": body}

    def plan(self, last: str, outputs: str) -> Plan:
        """The whole plan."""
        return {
            "schemaVersion": 2,
            "name": self._name,
            "source": "",
            "nodes": self._nodes,
            "out": [(last, None)],
            "inputs": {},
            "agents": {},
            "details": self._details,
            "flows": {},
            "outputs": _value(outputs),
        }


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


_RESERVED = frozenset({
    "start", "brief", "build", "change", "verdict", "architect", "person", "task",
    "outcome", "commit", "worktree", "again", "committed",
})  # fmt: skip


def _value(path: str) -> Code:
    """The value of a path in the scope of a pipeline."""
    return compile_condition(path).code


def _code(condition: str) -> Code:
    return compile_condition(condition).code
