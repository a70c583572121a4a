"""A plan as a drawing, for a terminal or for Mermaid, and as a graph. Pure.

node-0  general-purpose (opus): Scan the code -> issues
node-1  ├─ fixer: Fix {issues} -> fixes
node-2  ├─ Explore: Document {issues}
node-3  @review: Look at {fixes}
node-4  if failed
node-5  ├─ back to @review, 10 times at most

A step that is deeper than six brackets has a number for some of them: `⋮9 ├─`.

As a graph it is JSON: nodes with what they ask, edges, variables.

    {"nodes": [{"id": "node-0", "type": "agent", "agent": "general-purpose",
                "instruction": "…", "outputVar": "issues", "model": "opus"}, …],
     "edges": [{"from": "node-0", "to": "node-1"}, …], "variables": {}}

A temporary agent is shown as what it stands for: its base, and its prompt before the
instruction. A model, variables in the text and an output are there only where the flow
says them. A jump is an edge back, with `max`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.flow.compiler import FAILED, NOT_FAILED, OTHERWISE
from bridge.flow.filling import instruction_of, references_in, written
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bridge.flow.details import Detail
    from bridge.flow.plan import Plan

    # A node of a plan, or of a run's.
    Shown = Mapping[str, Any]

    from bridge.flow.plan import Code

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


_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)
_SHAPES = {
    "condition": ("{", "}"),
    "checkpoint": ("[/", "/]"),
    "jump": ("((", "))"),
    "flow": ("[[", "]]"),
}
_MAX_SAID = 60
# This leaves room for the condition under which it is done.
_MAX_GUARDED = 32
_DEEPEST = 6
# What Mermaid itself reads in a label: its escapes, HTML, Markdown, directives, maths.
_ESCAPED = {ord(sign): f"#{ord(sign)};" for sign in '#"<&`%\\'}


class Drawn(NamedTuple):
    """A line of a drawing: of the text in the middle a narrow page shows less."""

    lead: str
    said: str = ""
    end: str = ""

    def __str__(self) -> str:
        """The whole line."""
        return "".join(self)


def drawing_of(plan: Plan) -> Iterator[Drawn]:
    """The steps in written order, one to a line; what is inside is moved in."""
    number = max(map(len, plan["nodes"]), default=0)
    for name, detail in plan["details"].items():
        if shown := shown_as(plan["nodes"][name], detail):
            yield shown._replace(lead=f"{name:<{number}}  {shown.lead}")


def shown_as(node: Shown, detail: Detail) -> Drawn | None:
    """What a node does, moved in; nothing for one that only joins others."""
    label = label_of(node, detail)
    depth = detail.get("depth", 0)
    if not label or not depth:
        return label
    bars = "│  " * (depth - 1)
    if depth > _DEEPEST:
        bars = "│  " * (_DEEPEST - 2) + f"⋮{depth} "
    return label._replace(
        lead=bars + ("├─ " if "starts" in detail else "│  ") + label.lead
    )


def mermaid_of(plan: Plan) -> Iterator[str]:
    """The graph in the language of Mermaid, line by line."""
    graph = graph_of(plan)
    yield "flowchart TD"
    for node in graph["nodes"]:
        left, right = _SHAPES.get(node["type"], ("[", "]"))
        name = node["id"]
        said = label_of(plan["nodes"][name], plan["details"][name]) or node["type"]
        yield f"    {name}{left}{_quoted(str(said))}{right}"
    for edge in graph["edges"]:
        times = [_at_most(edge["max"])] if "max" in edge else []
        said = ", ".join(filter(None, [_one_line(edge.get("condition", "")), *times]))
        arrow = f"-->|{_quoted(said)}|" if said else "-->"
        yield f"    {edge['from']} {arrow} {edge['to']}"


def label_of(node: Shown, detail: Detail) -> Drawn | None:
    """What a node does, in a line; nothing for one that only joins others."""
    if "says" in detail:
        return _of_pipeline(node, detail)
    match detail.get("shows"):
        case "condition":
            return Drawn("if ", _one_line(detail["condition"]))
        case "label":
            return Drawn(f"@{detail['label']}")
        case "jump":
            times = _at_most(node["back"][0]["max"])
            return Drawn(f"back to @{detail['label']}, {times}")
        case "retry" if "back" in node:
            return Drawn(f"again if that failed, {_at_most(node['back'][0]['max'])}")
        case "retry":
            return Drawn("try")
        case "join" | "gate":
            return None
    if "flow" in detail:
        who = f"@call:{detail['flow']}"
    elif "label" in detail:
        who = f"@{detail['label']}"
    else:
        who = f"${detail['own']}" if "own" in detail else detail["agent"]
    who += f" ({detail['model']})" if "model" in detail else ""
    said = _one_line(written(detail.get("prompt", "")))
    who += ": " if detail.get("prompt") else ""
    end = f" -> {node['var']}" if "var" in node else ""
    end += f", retry {_at_most(node['retry'])}" if "retry" in node else ""
    return Drawn(who, said, end)


def _of_pipeline(node: Shown, detail: Detail) -> Drawn:
    """A step of a pipeline: what, when, and where it goes back to."""
    when = bare(detail["condition"], r"\1") if "condition" in detail else ""
    guard = f", if {_one_line(when)}" if when else ""
    end = f", retry {_at_most(node['retry'])}" if "retry" in node else ""
    for back in node.get("back", ()):
        end += f", back to {back['to']}, {_at_most(back['max'])}"
    what = one_line(bare(detail["says"]), _MAX_GUARDED if guard else _MAX_SAID)
    return Drawn(what, guard, end)


def bare(text: str, said: str = r"{\1}") -> str:
    """A text of a pipeline with `${{ x }}` as flows write it: `{x}`."""
    return _EXPRESSION.sub(said, text)


def _at_most(times: int) -> str:
    return f"{times} time{'' if times == 1 else 's'} at most"


def _one_line(text: str) -> str:
    return one_line(text, _MAX_SAID)


def _quoted(text: str) -> str:
    """A text in quotes: Mermaid has its own escapes, and no others."""
    said = text.translate(_ESCAPED).replace("$$", "#36;#36;")
    return f'"{said}"'
