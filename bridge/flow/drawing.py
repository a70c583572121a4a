"""A plan as a drawing, for a terminal or for Mermaid. Pure.

node-0  general-purpose (opus): Scan the code -> issues
node-1  ├─ fixer: Fix {issues} -> fixes
node-2  ├─ Explore: Document {issues}
node-3  @review: Look at {fixes}
node-4  if failed
node-5  ├─ back to @review, 10 times at most
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.flow.graph import graph_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.flow.plan import Plan

_SHAPES = {
    "condition": ("{", "}"),
    "checkpoint": ("[/", "/]"),
    "jump": ("((", "))"),
    "flow": ("[[", "]]"),
}
_MAX_SAID = 60


def drawing_of(plan: Plan, width: int | None) -> Iterator[str]:
    """The steps in written order, one to a line; what is inside is moved in."""
    number = max(map(len, plan["nodes"]), default=0)
    for name, detail in plan["details"].items():
        label = label_of(plan, name)
        if not label:
            continue
        rails = "│  " * (detail["depth"] - 1)
        rails += ("├─ " if "starts" in detail else "│  ") if detail["depth"] else ""
        line = f"{name:<{number}}  {rails}{label}"
        yield line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def mermaid_of(plan: Plan) -> Iterator[str]:
    """The graph in the language of Mermaid, line by line."""
    graph = graph_of(plan)
    yield "flowchart TD"
    for node in graph["nodes"]:
        left, right = _SHAPES.get(node["type"], ("[", "]"))
        said = label_of(plan, node["id"]) or node["type"]
        yield f"    {node['id']}{left}{_quoted(said)}{right}"
    for edge in graph["edges"]:
        times = [_at_most(edge["max"])] if "max" in edge else []
        said = ", ".join([*filter(None, [edge.get("condition")]), *times])
        arrow = f"-->|{_quoted(said)}|" if said else "-->"
        yield f"    {edge['from']} {arrow} {edge['to']}"


def label_of(plan: Plan, name: str) -> str:
    """What a node does, in a line; nothing for one that only joins others."""
    node, detail = plan["nodes"][name], plan["details"][name]
    match detail.get("shows"):
        case "condition":
            return f"if {_one_line(detail['condition'])}"
        case "label":
            return f"@{detail['label']}"
        case "jump":
            return f"back to @{detail['label']}, {_at_most(node['back'][0]['max'])}"
        case "retry" if "back" in node:
            return f"again if that failed, {_at_most(node['back'][0]['max'])}"
        case "retry":
            return "try"
        case "join" | "gate":
            return ""
    if "flow" in detail:
        said = f"@call:{detail['flow']}"
    elif "label" in detail:
        said = f"@{detail['label']}"
    else:
        said = f"${detail['own']}" if "own" in detail else detail["agent"]
    said += f" ({detail['model']})" if "model" in detail else ""
    said += f": {_one_line(text_of(detail['text']))}" if detail.get("text") else ""
    said += f" -> {node['var']}" if "var" in node else ""
    return said + (f", retry {_at_most(node['retry'])}" if "retry" in node else "")


def _at_most(times: int) -> str:
    return f"{times} time{'' if times == 1 else 's'} at most"


def _one_line(text: str) -> str:
    line = " ".join(text[: 4 * _MAX_SAID].split())
    return line if len(line) <= _MAX_SAID else f"{line[: _MAX_SAID - 1]}…"


def _quoted(text: str) -> str:
    """A text in quotes: Mermaid has its own escapes, and no others."""
    for sign, escape in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(sign, escape)
    return f'"{text}"'
