"""A plan as a graph to look at: nodes with what they ask, edges, variables. Pure.

    {"nodes": [{"id": "node-0", "type": "agent", "agent": "general-purpose",
                "instruction": "…", "outputVar": "issues", "model": "opus"}, …],
     "edges": [{"from": "node-0", "to": "node-1"}, …], "variables": {}}

A temporary agent is shown as what it stands for: its base, and its prompt before the
instruction. A model, variables in the text and an output are there only where the flow
says them. A jump is an edge back, with `max`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.flow.compiler import FAILED, NOT_FAILED, OTHERWISE
from bridge.flow.filling import instruction_of, references_in, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.flow.plan import Code, Plan

    Json = dict[str, Any]

_TYPES = {"approval": "checkpoint", "call": "flow"}


def graph_of(plan: Plan) -> Json:
    """The graph of a plan, as JSON."""
    return {
        "nodes": [_node(plan, name) for name in plan["nodes"]],
        "edges": list(_edges(plan)),
        "variables": {},
    }


def _node(plan: Plan, name: str) -> Json:
    node, detail = plan["nodes"][name], plan["details"][name]
    kind = detail.get("shows") or _TYPES.get(node["kind"], node["kind"])
    shown: Json = {"id": name, "type": kind}
    for key in ("agent", "flow", "label", "condition"):
        shown |= {key: detail[key]} if key in detail else {}
    if "says" in detail:
        retry = {"retry": node["retry"]} if "retry" in node else {}
        return shown | {"says": detail["says"], **retry}
    said = detail.get("given") or instruction_of(plan, detail)
    if "given" in detail:
        texts = iter(said[2:])
        shown["arguments"] = {
            key: written(text) for key, text in zip(texts, texts, strict=True)
        }
    elif node["kind"] != "pass":
        shown["instruction"] = written(said)
    shown |= {"outputVar": node["var"]} if "var" in node else {}
    shown |= {"model": detail["model"]} if "model" in detail else {}
    shown |= {"retry": node["retry"]} if "retry" in node else {}
    used = list(dict.fromkeys(references_in(said)))
    return shown | ({"templateVars": used} if used else {})


def _edges(plan: Plan) -> Iterator[Json]:
    for name, node in plan["nodes"].items():
        for source, code in node["in"]:
            condition = _condition(code, plan["details"][source].get("condition", ""))
            yield {"from": source, "to": name} | condition
        for back in node.get("back", []):
            condition = _condition(back["when"], "")
            if "says" in plan["details"][name]:
                # It has a text of its own, which leaves no room for the condition.
                condition = {}
            yield {"from": name, "to": back["to"]} | condition | {"max": back["max"]}


def _condition(code: Code, written: str) -> Json:
    """The condition of an edge, as it is written where its source stands."""
    if code is None:
        return {}
    if code in (FAILED, NOT_FAILED):
        return {"condition": "failed" if code == FAILED else "!failed"}
    is_otherwise = isinstance(code, list) and code[:2] == ["not", OTHERWISE]
    return {"condition": f"!({written})" if is_otherwise else written}
