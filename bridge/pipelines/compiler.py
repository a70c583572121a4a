"""A pipeline that has been checked, compiled to its plan. Pure.

Steps stand in a line. One whose condition does not hold is skipped, and the line goes
on. A question before a step is a node of its own, `ID-approval`.
"""

from __future__ import annotations

import hashlib
from itertools import takewhile
from typing import TYPE_CHECKING

from bridge.flow.compiler import with_called

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.flow.details import Detail
    from bridge.flow.plan import Back, Code, Edge, Last, Plan, PlanNode
    from bridge.pipelines.pipeline import Pipeline, PipelineStep, Repeat

    FindPipeline = Callable[[str], Pipeline | str]


def compile_pipeline(pipeline: Pipeline, find: FindPipeline | None = None) -> Plan:
    """The plan of a pipeline without errors, with the plans of those it calls."""
    return with_called(_compiled(pipeline), _compiled, find)


def asked_before(step: str) -> str:
    """The node of the question before a step."""
    return f"{step}-approval"


def _compiled(pipeline: Pipeline) -> Plan:
    nodes: dict[str, PlanNode] = {}
    details: dict[str, Detail] = {}
    first = {
        step.id: asked_before(step.id) if step.asks else step.id
        for step in pipeline.steps
    }
    edges: list[Edge] = []
    for step in pipeline.steps:
        if step.asks:
            name = first[step.id]
            nodes[name] = _question(step, edges)
            details[name] = _question_detail(step)
            edges = [(name, None)]
        node: PlanNode = {**step.node, "in": edges}
        if (condition := _condition(step)) is not None:
            node |= {"if": condition, "skip": "pass"}
        if read := _read_before(step, details):
            node["anew"] = read
        nodes[step.id] = node
        if step.repeat:
            node["back"] = [_back(step.id, step.repeat, first[step.repeat.start])]
        if step.repeat and step.repeat.is_bound:
            node["fail"] = step.repeat.when
            if not _looks_at(step.repeat.when, step.id):
                last: Last = {"jump": step.id, "when": step.repeat.when}
                nodes[first[step.id]]["last"] = last
        details[step.id] = step.detail
        edges = [(step.id, None)]
    plan: Plan = {
        "schemaVersion": 2,
        "name": pipeline.name,
        "source": hashlib.sha256(pipeline.source.encode()).hexdigest(),
        "nodes": nodes,
        "out": edges,
        "inputs": pipeline.inputs,
        "agents": {},
        "details": details,
        "flows": {},
    }
    if pipeline.outputs is not None:
        plan["outputs"] = pipeline.outputs
    return plan


def _back(step: str, repeat: Repeat, to: str) -> Back:
    back: Back = {
        "to": to,
        "when": repeat.when,
        "max": repeat.most,
        "body": (to, step),
    }
    return {**back, "says": repeat.says} if repeat.says else back


def _looks_at(code: Code, step: str) -> bool:
    """Whether a condition may be about a step."""
    match code:
        case ["get", _, ["name", _, "steps"], str() as name]:
            return name == step
        case ["name", _, "steps"]:
            return True
        case [_, _, *parts]:
            return any(_looks_at(part, step) for part in parts)
    return False


def _read_before(step: PipelineStep, before: Mapping[str, Detail]) -> list[str]:
    """The tools right before a `fail` that only read; none before any other step."""
    if step.detail.get("tool", {}).get("name") != "fail":
        return []
    reading = takewhile(lambda name: _only_reads(before[name]), [*before][::-1])
    return [*reading]


def _only_reads(detail: Detail) -> bool:
    from bridge.tasks.tool_table import TOOLS  # with SQLite

    tool = TOOLS.get(detail.get("tool", {}).get("name", ""))
    return tool is not None and not tool.changes


def _condition(step: PipelineStep) -> Code | None:
    """When a step runs; without the yes that it needs it does not."""
    if not step.asks or step.node.get("on_failure") != "skip":
        return step.condition
    status = ["get", 0, ["get", 0, ["name", 0, "steps"], asked_before(step.id)]]
    agreed: Code = ["compare", 0, [*status, "status"], "==", "completed"]
    return agreed if step.condition is None else ["and", 0, step.condition, agreed]


def _question(step: PipelineStep, edges: list[Edge]) -> PlanNode:
    _, timeout_s = step.asks or ("", None)
    node: PlanNode = {"kind": "approval", "in": edges}
    if step.condition is not None:
        node |= {"if": step.condition, "skip": "pass"}
    if timeout_s is not None:
        node["deadline_s"] = timeout_s
    for key in ("on_failure", "at"):
        if key in step.node:
            node[key] = step.node[key]
    return node


def _question_detail(step: PipelineStep) -> Detail:
    text, _ = step.asks or ("", None)
    detail: Detail = {"prompt": text, "says": f"approval before {step.id}"}
    for key in ("line", "column"):
        if key in step.detail:
            detail[key] = step.detail[key]
    return detail
