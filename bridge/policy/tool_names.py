"""The tools that a definition may name: the client's, and those of the other routes.

In a definition, both names of a tool mean the same on every route. Rules get the
client's names when a definition is read, tools when a route lists them.

Source: Claude Code tools reference; measured on 2.1.330.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The client's tools that the routes local and endpoint have, too.
LOCAL_NAMES = {
    "Read": "read_file",
    "Glob": "list_files",
    "Grep": "search_text",
    "Bash": "run_command",
    "Write": "write_file",
    "Edit": "edit_file",
}
# The client's own name for a tool with several: in a hook it has only this one.
HOST_NAMES = {ours: theirs for theirs, ours in LOCAL_NAMES.items()} | {
    "Task": "Agent",
    "KillShell": "TaskStop",
    "KillBash": "TaskStop",
    "BashOutput": "TaskOutput",
    "ListMcpResources": "ListMcpResourcesTool",
    "ReadMcpResource": "ReadMcpResourceTool",
    "ReadMcpResourceDir": "ReadMcpResourceDirTool",
}

# What the client calls the arguments of these tools, where it is something else.
_HOST_FIELDS = {
    "read_file": {"path": "file_path", "line": "offset"},
    "list_files": {"folder": "path"},
    "search_text": {"text": "pattern", "folder": "path", "pattern": "glob"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path", "old": "old_string", "new": "new_string"},
}

# The tool with which a model in our own loop answers.
SUBMIT = "submit_result"

_OTHERS = """
    Agent AskUserQuestion CronCreate CronDelete CronList EnterPlanMode
    EnterWorktree ExitPlanMode ExitWorktree LSP ListAgents ListMcpResourcesTool Monitor
    MultiEdit NotebookEdit NotebookRead PowerShell ReadMcpResourceDirTool
    ReadMcpResourceTool ScheduleWakeup SendMessage Skill SubagentHandback TaskCreate
    TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite ToolSearch WebFetch
    WebSearch Workflow
"""
KNOWN = frozenset({*LOCAL_NAMES, *HOST_NAMES, *_OTHERS.split()})


# Our MCP server, as settings name it, and as the plugin's is called.
OWN_SERVER = "mcp__hostbridge"
PLUGIN_SERVER = "mcp__plugin_hostbridge_hostbridge"


# How public files call the servers over which they spread what is one server here.
_LIKE_OURS = ("-tasks", "-tasks-ops", "-agents", "-memory", "-workflows")

# Tools of ours by the names that public files have for them.
OURS = {"kill_agent": "cancel_agent", "spawn_agent": "start_agent"}
# What is a part of a tool of ours: who refuses it refuses that one.
WITHIN = {"mark_task_review_approved": "close_task"}


def is_own_server(server: str) -> bool:
    """Whether a server is ours, or stands for ours in a public file."""
    return server == OWN_SERVER.removeprefix("mcp__") or server.endswith(_LIKE_OURS)


def of_own_server(name: str) -> str:
    """A tool of the plugin's server by the name that definitions have for it."""
    if name.startswith(PLUGIN_SERVER):
        return OWN_SERVER + name[len(PLUGIN_SERVER) :]
    return name


def has_own_tools(names: tuple[str, ...]) -> bool:
    """Whether one of these tools is our MCP server's."""
    return any(each.startswith(OWN_SERVER) for each in names)


def is_known(name: str) -> bool:
    """Whether a tool of this name may exist; those of MCP servers are not known."""
    return name in KNOWN or name.startswith("mcp__")


def on_host(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same tools by the client's names."""
    return tuple(dict.fromkeys(HOST_NAMES.get(name, name) for name in names))


def rule_on_host(text: str) -> str:
    """A permission rule with its tool by the client's name."""
    tool, bracket, rest = text.strip().partition("(")
    return f"{HOST_NAMES.get(tool, tool)}{bracket}{rest}"


def call_on_host(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A call of our own loop as the client would make it: the tool and its input."""
    names = _HOST_FIELDS.get(tool, {})
    tool_input = {names.get(name, name): value for name, value in arguments.items()}
    return HOST_NAMES.get(tool, tool), tool_input
