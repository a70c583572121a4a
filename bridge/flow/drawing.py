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
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bridge.flow.plan import Detail, Plan

    # A node of a plan, or of a run's.
    Shown = Mapping[str, Any]

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
    for name in plan["details"]:
        if shown := shown_as(plan["nodes"][name], plan["details"][name]):
            line = f"{name:<{number}}  {shown}"
            is_long = width is not None and len(line) > width
            yield f"{line[: width - 1]}…" if width and is_long else line


def shown_as(node: Shown, detail: Detail) -> str:
    """What a node does, moved in; nothing for one that only joins others."""
    label = label_of(node, detail)
    depth = detail.get("depth", 0)
    if not label or not depth:
        return label
    return "│  " * (depth - 1) + ("├─ " if "starts" in detail else "│  ") + label


def mermaid_of(plan: Plan) -> Iterator[str]:
    """The graph in the language of Mermaid, line by line."""
    graph = graph_of(plan)
    yield "flowchart TD"
    for node in graph["nodes"]:
        left, right = _SHAPES.get(node["type"], ("[", "]"))
        name = node["id"]
        said = label_of(plan["nodes"][name], plan["details"][name]) or node["type"]
        yield f"    {name}{left}{_quoted(said)}{right}"
    for edge in graph["edges"]:
        times = [_at_most(edge["max"])] if "max" in edge else []
        said = ", ".join([*filter(None, [edge.get("condition")]), *times])
        arrow = f"-->|{_quoted(said)}|" if said else "-->"
        yield f"    {edge['from']} {arrow} {edge['to']}"


def label_of(node: Shown, detail: Detail) -> str:
    """What a node does, in a line; nothing for one that only joins others."""
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
