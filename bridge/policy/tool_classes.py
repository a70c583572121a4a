"""Tools in classes, each with a hook entry of its own. Pure, and nothing is imported.

A hook's shell half is told the class by its entry, so that it knows whether any rule
concerns the call without reading the event. Every tool is in one class.
"""

from __future__ import annotations

_NAMED = {
    "bash": ("Bash",),
    "edit": ("Edit", "MultiEdit", "NotebookEdit", "Write"),
    "read": ("Glob", "Grep", "LS", "NotebookRead", "Read"),
    "agent": ("Agent", "Task"),
}
_MCP = "mcp__"
# The client's own way of taking a report: no rule is asked about it.
HANDBACK = "SubagentHandback"
# Classes of tools whose names nobody can list.
OPEN = ("mcp", "other")
CLASSES = (*_NAMED, *OPEN)


def class_of(tool: str) -> str:
    """The class of a tool."""
    for name, tools in _NAMED.items():
        if tool in tools:
            return name
    return "mcp" if tool.startswith(_MCP) else "other"


def tools_of(name: str) -> tuple[str, ...]:
    """The tools of a class; none for an open one."""
    return _NAMED.get(name, ())


def matcher_of(name: str) -> str:
    """What the client matches tools of a class by.

    It tries a tool's older name, too: Task stands beside Agent in the last one.
    """
    if name == "mcp":
        return f"{_MCP}.*"
    if name == "other":
        listed = [tool for tools in _NAMED.values() for tool in tools]
        return f"^(?!({'|'.join([*listed, HANDBACK])})$|{_MCP}).*"
    return "|".join(_NAMED[name])
