"""The tools that a definition may name: the client's, and those of the other routes.

Both names of one tool mean the same in a definition, on every route: rules are
rewritten to the client's when a definition is read, tools where a route lists them.

Source: Claude Code tools reference; measured on 2.1.330.
"""

from __future__ import annotations

# The client's name of each tool that the local and the endpoint route have, too.
LOCAL_NAMES = {
    "Read": "read_file",
    "Glob": "list_files",
    "Grep": "search_text",
    "Bash": "run_command",
}
# What the client calls a tool that it also takes under another name.
HOST_NAMES = {ours: theirs for theirs, ours in LOCAL_NAMES.items()} | {"Task": "Agent"}

# The tool by which a model of ours answers, in a definition and in the loop.
SUBMIT = "submit_result"

KNOWN = frozenset(
    {
        *LOCAL_NAMES,
        *HOST_NAMES,
        *("Agent", "AskUserQuestion", "BashOutput", "Edit", "EnterPlanMode"),
        *("ExitPlanMode", "KillShell", "LSP", "ListMcpResourcesTool", "MultiEdit"),
        *("NotebookEdit", "NotebookRead", "ReadMcpResourceTool", "SendMessage"),
        *("Skill", "SubagentHandback", "Task", "TaskCreate", "TaskGet", "TaskList"),
        *("TaskOutput", "TaskStop", "TaskUpdate", "TodoWrite", "ToolSearch"),
        *("WebFetch", "WebSearch", "Write"),
    }
)


def is_known(name: str) -> bool:
    """Whether a tool of this name may exist; those of MCP servers cannot be seen."""
    return name in KNOWN or name.startswith("mcp__")


def on_host(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same tools by the client's names."""
    return tuple(dict.fromkeys(HOST_NAMES.get(name, name) for name in names))


def rule_on_host(text: str) -> str:
    """A permission rule with its tool by the client's name."""
    tool, bracket, rest = text.strip().partition("(")
    return f"{HOST_NAMES.get(tool, tool)}{bracket}{rest}"
