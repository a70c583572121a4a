"""Tools in classes, each with a hook entry of its own. Pure; it loads no module.

A hook's shell half is told the class by its entry, so that it knows whether any rule
concerns the call without reading the event. Every tool is in one class.
"""

from posixpath import normpath

_PATHS = ("file_path", "notebook_path")

_NAMED = {
    # Whatever has its command run by a shell.
    "bash": ("Bash", "Monitor", "PowerShell"),
    "edit": ("Edit", "MultiEdit", "NotebookEdit", "Write"),
    "read": ("Glob", "Grep", "LS", "NotebookRead", "Read"),
    "agent": ("Agent", "Task"),
}
# All the rest, whose names nobody can list: those of MCP servers, too.
OTHER = "other"
CLASSES = (*_NAMED, OTHER)
# The client's own way of taking a report: no rule is asked about it.
HANDBACK = "SubagentHandback"
# By which an agent that has answered is asked again: it may carry a token of ours.
MESSAGE = "SendMessage"
# By which the main thread of a terminal asks its person: it may be a checkpoint's.
QUESTION = "AskUserQuestion"
# An agent is launched once and ends once: no later event can decide these.
DECIDED_ONCE = frozenset({"PreToolUse", "SubagentStop"})
# The tools of our own MCP server, as `install --mcp` and as the plugin registers it.
# They are of the open class, but their calls have an entry of their own.
OWN_SERVER = "mcp__hostbridge__"
_SERVERS = (OWN_SERVER, "mcp__plugin_hostbridge_hostbridge__")
OWN = f"({'|'.join(_SERVERS)}).*"


def class_of(tool: str) -> str:
    """The class of a tool."""
    return next((name for name, tools in _NAMED.items() if tool in tools), OTHER)


def is_own(tool: str) -> bool:
    """Whether a tool is our own MCP server's."""
    return tool.startswith(_SERVERS)


def usual_name(tool: str) -> str:
    """The name by which lists know a tool: one of ours has two, Agent an older one."""
    if tool.startswith(_SERVERS[1]):
        return OWN_SERVER + tool[len(_SERVERS[1]) :]
    return "Agent" if tool == "Task" else tool


def tools_of(name: str) -> tuple[str, ...]:
    """The tools of a class; none for the open one."""
    return _NAMED.get(name, ())


def matcher_of(*names: str, besides: tuple[str, ...] = (HANDBACK,)) -> str:
    """What the client matches the tools of these classes by.

    The open one does not have those in `besides`. The client tries a tool's older name,
    too: Task stands beside Agent among the others.
    """
    if OTHER not in names:
        return "|".join(tool for name in names for tool in _NAMED[name])
    rest = [tool for name in _NAMED if name not in names for tool in _NAMED[name]]
    return f"^(?!({'|'.join([*rest, *besides])})$).*"


def as_opened(tool_input: dict[str, object]) -> dict[str, object]:
    """The input of a call, its paths as the file is opened: `a.lock/` is `a.lock`.

    Source: measured on Claude Code 2.1.330, which leaves nothing but that slash.
    """
    paths = {
        key: normpath(path)
        for key in _PATHS
        if isinstance(path := tool_input.get(key), str) and path[:1] == "/"
    }
    return {**tool_input, **paths}
