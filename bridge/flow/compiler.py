"""A checked flow compiled to its plan; `bridge.flow.plan` says how a plan runs. Pure.

A guard becomes a `pass` with two edges: one into its segment, one past it.

Inside a retry, and in a group before a guard that asks how it ended, failures are
caught: an edge from each step leads on if it did not fail; if it did, another one leads
to the end of the innermost branch or group, and so in the end to whoever asks.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from bridge.flow.filling import joined, parameter, reference
from bridge.flow.loops import BOUND, GO_ON, labels_of
from bridge.flow.parameters import inputs_of
from bridge.flow.syntax_tree import (
    Call,
    Group,
    Mark,
    Parallel,
    Reference,
    Retry,
    Segment,
    SubFlow,
    output_of,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.flow.details import Detail, Template
    from bridge.flow.parameters import FindFlow
    from bridge.flow.plan import Code, Edge, Kind, Last, Plan, PlanNode
    from bridge.flow.syntax_tree import Flow, Sequence, Step, Text

T = TypeVar("T")
FAILED: Code = ["name", 0, "failed"]
NOT_FAILED: Code = ["not", 0, FAILED]
# The place of a "not" that is ours: what does not pass a guard passes it by.
OTHERWISE = -1


def compile_flow(flow: Flow, find_flow: FindFlow | None = None) -> Plan:
    """The plan of a flow that has been checked, with the plans of those it calls."""
    return with_called(_compiled(flow), _compiled, find_flow)


def with_called(
    plan: Plan, compiled: Callable[[T], Plan], find: Callable[[str], T | str] | None
) -> Plan:
    """A plan with those that it calls, and that these call."""
    calls = _calls(plan)
    while calls and find:
        name = calls.pop()
        other = find(name)
        if name not in plan["flows"] and not isinstance(other, str):
            plan["flows"][name] = compiled(other)
            calls += _calls(plan["flows"][name])
    return plan


def _calls(plan: Plan) -> list[str]:
    return [each["flow"] for each in plan["details"].values() if "flow" in each]


def _compiled(flow: Flow) -> Plan:
    compiler = _Compiler(flow)
    out = compiler.sequence(flow.body, [])
    compiler.mark_lasts()
    return {
        "schemaVersion": 2,
        "name": flow.head.name,
        "source": hashlib.sha256(flow.source.encode()).hexdigest(),
        "nodes": compiler.nodes,
        "out": out,
        "inputs": inputs_of(flow),
        "agents": {
            each.name: {
                "base": each.base,
                "prompt": template_of(each.prompt),
                "model": each.model,
            }
            for each in flow.definitions
        },
        "details": compiler.details,
        "flows": {},
    }


def template_of(text: Text | None) -> Template:
    """A text as a plan has it."""
    return joined([_part(part) for part in text or ()])


def _part(part: Any) -> Template:
    if isinstance(part, str):
        return part
    if isinstance(part, Reference):
        return reference(part.name, part.path)
    return parameter(part.name, part.default)


class _Compiler:
    def __init__(self, flow: Flow) -> None:
        self.nodes: dict[str, PlanNode] = {}
        self.details: dict[str, Detail] = {}
        self.labels: dict[str, str] = {}
        named = labels_of(walk(flow.body)).items()
        self.jumped_to = {name for name, label in named if label.jumps}
        self.bases = {f"${each.name}": each for each in flow.definitions}
        self.lines = [0, *(found.end() for found in re.finditer("\n", flow.source))]
        self.depth = 0
        self.lasts: dict[str, Last] = {}
        # Which failures are caught here.
        self.catching: Literal["", "failed", "any"] = ""
        self.caught: set[str] = set()

    def sequence(self, body: Sequence, ends: list[Edge]) -> list[Edge]:
        """Compile segments after `ends`; returns their own ends."""
        past: list[Edge] = []
        asks = [each.condition and each.condition.catches for each in body.segments]
        last_asked = max((at for at, asked in enumerate(asks) if asked), default=-1)
        for index, segment in enumerate(body.segments):
            is_asked = index < last_asked
            if segment.condition is None:
                ends = self.chain(segment, ends, is_asked=is_asked)
                continue
            if segment.condition.catches:
                ends, past = ends + past, []
            elif index and (is_asked or self.catching):
                ends = self.gate(ends, past)
            code = segment.condition.code
            guard = self.passing(
                ends, segment.at, shows="condition", condition=segment.condition.source
            )
            if segment.condition.catches:
                self.catch(guard)
            with self.inside():
                ends = self.chain(segment, [(guard, code)], is_asked=is_asked)
            ends.append((guard, ["not", OTHERWISE, code]))
        return ends + past

    def chain(
        self, segment: Segment, ends: list[Edge], *, is_asked: bool
    ) -> list[Edge]:
        """Compile steps one after the other; the last may be asked how it ended."""
        past: list[Edge] = []
        guarded = ends
        for index, step in enumerate(segment.steps):
            if index and self.catching:
                ends = self.gate(ends, past)
            outside = self.catching
            if is_asked and step is segment.steps[-1]:
                self.catching = outside or "failed"
            ends = self.step(step, ends)
            self.catching = outside
        last = self.nodes[ends[0][0]]
        if isinstance(step, Mark) and "back" in last and segment.condition is not None:
            # Used up, while the condition still holds, and nothing follows.
            last["fail"] = True
            last["back"][0]["says"] = segment.condition.source
            if self.catching:
                last["caught"] = self.catching
            if len(segment.steps) > 1:
                ((guard, code),) = guarded
                self.lasts[guard] = {"jump": ends[0][0], "when": code}
        return ends + past

    def gate(self, ends: list[Edge], past: list[Edge]) -> list[Edge]:
        """Lead what failed past what follows."""
        match ends:
            case [(source, None)]:
                pass
            case _:
                source = self.passing(ends, shows="gate")
        past.append((source, FAILED))
        return [(source, NOT_FAILED)]

    def step(self, step: Step, ends: list[Edge]) -> list[Edge]:
        """Compile a step after `ends`; returns its own ends."""
        match step:
            case Parallel(branches):
                return self.parallel(branches, ends)
            case Group(body):
                return self.sequence(body, ends)
            case Retry(times, body):
                return self.retry(times, body, ends, step.at)
            case Mark():
                return [(self.mark(step, ends), None)]
            case SubFlow(name, arguments):
                given = [one for k, text in arguments for one in (k, template_of(text))]
                detail: Detail = {"flow": name, "given": ["map", 0, *given]}
                called = self.node("call", ends, step, detail)
                return [(called, None)]
            case Call():
                return [(self.call(step, ends), None)]
        raise TypeError(step)

    def parallel(self, branches: tuple[Step, ...], ends: list[Edge]) -> list[Edge]:
        """Compile branches side by side."""
        if len(ends) > 1:
            # From each to each would be too many edges.
            ends = [(self.passing(ends, shows="join"), None)]
        first = f"node-{len(self.nodes)}"
        after: list[Edge] = []
        for branch in branches:
            with self.inside():
                after += self.step(branch, ends)
        if all(self.nodes[source]["kind"] != "pass" for source, _ in after):
            return after
        # A branch in which nothing ran has no say in how the group ended.
        join = self.passing(after, shows="join")
        self.nodes[join]["since"] = first
        return [(join, None)]

    def retry(
        self, times: int, body: Sequence, ends: list[Edge], at: int
    ) -> list[Edge]:
        """Compile what is tried again while it fails."""
        match body.segments:
            case (Segment((Call() as call,), None),):
                only = self.call(call, ends)
                self.nodes[only]["retry"] = times
                return [(only, None)]
        start = self.passing(ends, at, shows="retry")
        outside, self.catching = self.catching, "any"
        with self.inside():
            ends = self.sequence(body, [(start, None)])
        self.catching = outside
        end = self.passing(ends, at, shows="retry")
        self.nodes[end]["since"] = start
        self.nodes[end]["back"] = [
            {"to": start, "when": FAILED, "max": times, "body": (start, end)}
        ]
        if not self.catching:
            self.nodes[end]["fail"] = FAILED
        return [(end, None)]

    def call(self, call: Call, ends: list[Edge]) -> str:
        """Compile the call of an agent."""
        prompt = template_of(call.instruction)
        detail: Detail = {"agent": call.agent, "prompt": prompt}
        if own := self.bases.get(call.agent):
            detail |= {"agent": own.base, "own": own.name}
            detail |= {"model": own.model} if own.model else {}
        return self.node("agent", ends, call, detail)

    def mark(self, mark: Mark, ends: list[Edge]) -> str:
        """Compile a place, a checkpoint or a jump."""
        if to := self.labels.get(mark.name):
            jump = self.passing(ends, mark.at, shows="jump", label=mark.name)
            bound = mark.bound or BOUND
            self.nodes[jump]["back"] = [
                {"to": to, "when": None, "max": bound, "body": (to, jump)}
            ]
            return jump
        if mark.prompt is None and mark.name in self.jumped_to:
            place = self.passing(ends, mark.at, shows="label", label=mark.name)
        else:
            prompt = template_of(mark.prompt) or GO_ON
            place = self.node(
                "approval", ends, mark, {"label": mark.name, "prompt": prompt}
            )
        self.labels[mark.name] = place
        return place

    def mark_lasts(self) -> None:
        """Let guards say that a loop is used up, where nobody else asks about that."""
        for guard, last in self.lasts.items():
            if "caught" not in self.nodes[last["jump"]]:
                self.nodes[guard]["last"] = last

    def passing(self, ends: list[Edge], at: int = -1, **detail: Unpack[Detail]) -> str:
        """Add a node that only passes on."""
        return self._add("pass", ends, at, detail)

    def node(self, kind: Kind, ends: list[Edge], step: Step, detail: Detail) -> str:
        """Add the node of a step."""
        node = self._add(kind, ends, step.at, detail)
        if output := output_of(step):
            self.nodes[node]["var"] = output
        if self.catching:
            self.nodes[node]["caught"] = self.catching
        return node

    def _add(self, kind: Kind, ends: list[Edge], at: int, detail: Detail) -> str:
        node = f"node-{len(self.nodes)}"
        self.nodes[node] = {"kind": kind, "in": ends}
        if at >= 0:
            line = bisect_right(self.lines, at)
            detail |= {"line": line, "column": at - self.lines[line - 1] + 1}
        self.details[node] = detail | {"depth": self.depth}
        return node

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be one level deeper, and mark the first node there."""
        start = f"node-{len(self.nodes)}"
        self.depth += 1
        yield
        self.depth -= 1
        self.details[start]["starts"] = True

    def catch(self, guard: str) -> None:
        """Leave the failures that a guard asks about to it."""
        left = [guard]
        while left:
            for source, _ in self.nodes[left.pop()]["in"]:
                if source in self.caught:
                    continue
                self.caught.add(source)
                node = self.nodes[source]
                if node["kind"] == "pass":
                    # What has failed at the end of a retry is asked about itself.
                    if node.pop("fail", None) is True:
                        node |= {"fail": True, "caught": "failed"}
                    left.append(source)
                else:
                    node.setdefault("caught", "failed")
