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
# All the rest, whose names nobody can list: those of MCP servers, too.
OTHER = "other"
CLASSES = (*_NAMED, OTHER)
# The client's own way of taking a report: no rule is asked about it.
HANDBACK = "SubagentHandback"


def class_of(tool: str) -> str:
    """The class of a tool."""
    return next((name for name, tools in _NAMED.items() if tool in tools), OTHER)


def tools_of(name: str) -> tuple[str, ...]:
    """The tools of a class; none for the open one."""
    return _NAMED.get(name, ())


def matcher_of(*names: str) -> str:
    """What the client matches the tools of these classes by.

    It tries a tool's older name, too: Task stands beside Agent among the others.
    """
    if OTHER not in names:
        return "|".join(tool for name in names for tool in _NAMED[name])
    rest = [tool for name in _NAMED if name not in names for tool in _NAMED[name]]
    return f"^(?!({'|'.join([*rest, HANDBACK])})$).*"
