"""A compiled plan in the form in which a run keeps it. Pure.

And which steps a condition is about, and which words it asks of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.engine.run_ids import OUT, VERSION
from bridge.flow.filling import has_variables, instruction_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.engine.run import Details, Linked, LinkedNode
    from bridge.flow.details import Detail
    from bridge.flow.plan import Code, Edge, Plan

_WORDS = frozenset({"passed", "success", "failed", "issues"})


def last_steps(
    nodes: Mapping[str, LinkedNode],
    out: list[str],
    token: Callable[[str, str], bool | None],
    name: str,
    *,
    own: bool,
    failed: frozenset[str] = frozenset(),
) -> list[str]:
    """The last steps before a `pass`, or the end, in written order.

    Those before its `since` do not count where there are others; with `own` never.
    `token` says whether an edge is live; each `pass` in `failed` is a step, too.
    """
    behind: dict[str, tuple[set[str], list[str]]] = {}
    left = [name]
    while left:
        each = left.pop()
        sources = nodes[each]["in"] if each else out
        live = [source for source in sources if token(source, each)]
        passes = [source for source in live if nodes[source]["kind"] == "pass"]
        steps = {s for s in live if s in failed or nodes[s]["kind"] != "pass"}
        behind[each] = steps, passes
        left += [each for each in passes if each not in behind]
    order = {each: index for index, each in enumerate(nodes)}
    found: dict[str, set[str]] = {}
    for each in sorted(behind, key=lambda node: order.get(node, len(order))):
        steps, passes = behind[each]
        steps = steps.union(*(found[source] for source in passes))
        since = nodes[each].get("since") if each else None
        if since is not None:
            mine = {step for step in steps if order[step] >= order[since]}
            steps = mine if mine or (own and each == name) else steps
        found[each] = steps
    return sorted(found[name], key=order.__getitem__)


def words_of(code: Code) -> set[str]:
    """The words about steps that a condition asks for."""
    match code:
        case ["name", _, word] | ["get", _, ["name", _, "all" | "any"], str() as word]:
            return {word} & _WORDS
        case [_, _, *parts]:
            return set().union(*map(words_of, parts))
    return set()


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
