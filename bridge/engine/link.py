"""A compiled plan in the form in which a run keeps it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.engine.last_steps import words_of
from bridge.engine.run_ids import OUT, VERSION
from bridge.flow.filling import has_variables, instruction_of

if TYPE_CHECKING:
    from bridge.engine.run import Details, Linked, LinkedNode
    from bridge.flow.details import Detail
    from bridge.flow.plan import Edge, Plan


def link(plan: Plan) -> tuple[Linked, Details]:
    """What each step reads of a plan, and what is only read when a node is asked."""
    nodes: dict[str, LinkedNode] = {}
    for name, node in plan["nodes"].items():
        linked: Any = {**node, "in": _sources(node["in"]), "to": []}
        nodes[name] = linked
    targets = [*((name, node["in"]) for name, node in plan["nodes"].items())]
    for target, edges in (*targets, (OUT, plan["out"])):
        for source, code in edges:
            nodes[source]["to"].append((target, code))
    out = _sources(plan["out"])
    details: Details = {
        "details": {name: _said(plan, d) for name, d in plan["details"].items()},
        "flows": plan["flows"],
        "issues": asked_about_issues(plan),
    }
    linked_plan: Linked = {"schemaVersion": VERSION, "nodes": nodes, "out": out}
    if "outputs" in plan:
        linked_plan["outputs"] = plan["outputs"]
    return linked_plan, details


def _said(plan: Plan, detail: Detail) -> Detail:
    """What a step says, the prompt included that is not its agent's for ever."""
    if "own" not in detail or not has_variables(plan["agents"][detail["own"]]):
        return detail
    return {**detail, "prompt": instruction_of(plan, detail)}


def _sources(edges: list[Edge]) -> list[str]:
    return list(dict.fromkeys(source for source, _ in edges))


def asked_about_issues(plan: Plan) -> list[str]:
    """The steps of whose answers a condition wants to know whether there are issues."""
    nodes = plan["nodes"]
    every = [edge for node in nodes.values() for edge in node["in"]] + plan["out"]
    left = [source for source, code in every if "issues" in words_of(code)]
    seen: set[str] = set()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        if nodes[name]["kind"] == "pass":
            left += [source for source, _ in nodes[name]["in"]]
    return [each for each in nodes if each in seen and nodes[each]["kind"] != "pass"]
