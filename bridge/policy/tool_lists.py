"""Which tools an agent may call, by the lists of its definition.

Pure, and the standard library only: a hook asks this at every call of an agent of ours.
"""

from __future__ import annotations

import re

from bridge.policy.condition_globs import starred
from bridge.policy.tool_classes import usual_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]
    Names = list[str] | tuple[str, ...] | None

# Without these an agent could not answer, or not use its tools.
_ALWAYS = frozenset({"SubagentHandback", "ToolSearch"})
# What they plan happens after the agent, in the main thread of some session.
_OUTLASTING = frozenset({"CronCreate", "CronDelete", "RemoteTrigger", "ScheduleWakeup"})
# They run commands, too: a skill those in its text, which no hook sees.
_LIKE_BASH = frozenset({"Monitor", "PowerShell", "Skill"})
_LIKE_AGENT = tuple(
    f"hostbridge__{name}"
    for name in (
        "start_agent", "spawn_agent", "run_flow", "validate_change",
        "build_and_validate",
    )
)  # fmt: skip
# Modes in which the client asks about fewer calls, or none; and calls that it asks
# about in no mode: what it calls by another name may do anything.
_UNASKED = frozenset({"acceptEdits", "auto", "bypassPermissions"})
_HARMLESS = _ALWAYS | frozenset({
    "Agent", "AskUserQuestion", "CronList", "EnterPlanMode", "ExitPlanMode", "LSP",
    "ListAgents", "ListMcpResourcesTool", "SendMessage", "StructuredOutput",
    "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate",
    "TodoWrite",
})  # fmt: skip
# In another folder than the session's, it asks about these, too.
_READS = frozenset({"Glob", "Grep", "LS", "NotebookRead", "Read"})


def permits(tools: Names, blocked: Names, tool: str) -> bool:
    """Whether an agent may call a tool; without `tools`, any that plans nothing."""
    tool = usual_name(tool)
    if tool in _ALWAYS:
        return True
    if _names(blocked, tool) or (tool in _LIKE_BASH and _names(blocked, "Bash")):
        return False
    if tool.endswith(_LIKE_AGENT) and _names(blocked, "Agent"):
        return False
    return tool not in _OUTLASTING if tools is None else _names(tools, tool)


def is_unasked(run: Json, fields: Json) -> bool:
    """Whether the session's mode may let a call run that the definition must grant."""
    tool = str(fields.get("tool_name"))
    return (
        fields.get("permission_mode") in _UNASKED
        and bool(run.get("allow"))
        and usual_name(tool) not in _HARMLESS
        and (tool not in _READS or bool(run.get("folder")))
    )


def reads_unasked(run: Json, fields: Json) -> bool:
    """Whether a call may read, unasked, what lies in the project but is private.

    The client does not ask about what lies in the session's own folder.
    """
    is_read = fields.get("tool_name") in _READS | {"Bash"}
    return is_read and bool(run.get("folder"))


def _names(names: Names, tool: str) -> bool:
    """Whether a list has the tool, or `mcp__server`; `*` stands for anything."""
    return any(
        name == tool
        or (name.startswith("mcp__") and _fits(tool, f"{name}__*"))
        or ("*" in name and _fits(tool, name))
        for name in names or ()
    )


def _fits(tool: str, name: str) -> bool:
    return re.fullmatch(starred(name), tool, re.S) is not None
