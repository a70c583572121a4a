"""Tools by their servers, as other pipelines name them, and what they are here. Pure.

    mcp: {server: X-agents, tool: spawn_agent, arguments: {agent, prompt, …}}

Only the last word of a server's name counts. The tools of `-tasks` and `-memory` are
those of our own table; the others are kinds of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.agents.diagnostic import did_you_mean_tool
from bridge.hints import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

Meant = Literal["agent", "wait", "set", "fail", "pipeline", "worktree"]
_TABLES = frozenset({"tasks", "memory"})


class Foreign(NamedTuple):
    """What a tool is here.

    Attributes:
        kind: the kind of step.
        renamed: what its arguments are called here; empty for one that means nothing.
        action: of a worktree.
    """

    kind: Meant
    renamed: Mapping[str, str]
    action: str = ""


_NOTHING = dict.fromkeys(
    ("provider", "parent_session_id", "session_id", "reasoning_effort"), ""
)
_OF_AGENT = (
    "agent", "prompt", "workflow", "task_id", "mode", "model", "timeout", "arguments"
)  # fmt: skip
_SPAWN = Foreign(
    "agent",
    {
        **{name: name for name in _OF_AGENT},
        **dict.fromkeys(("clone_id", "worktree_id", "worktree", "cwd"), "worktree"),
        **dict.fromkeys(("variables", "session_variables"), "arguments"),
        "agent_definition": "agent",
        "assigned_task_id": "task_id",
        **_NOTHING,
    },
)
_WAIT = Foreign(
    "wait",
    dict.fromkeys(("run_id", "request_id", "completion_id"), "for")
    | {"timeout": "timeout", **_NOTHING},
)
_CREATE = Foreign(
    "worktree",
    {"branch_name": "name", "name": "name", "base_branch": "base", "base": "base"}
    | dict.fromkeys(("task_id", "clone_path", "worktree_path", "use_local"), "")
    | _NOTHING,
    "create",
)
_WHICH = dict.fromkeys(("clone_id", "worktree_id", "worktree"), "worktree")
_MERGE = Foreign(
    "worktree",
    _WHICH | {"target_branch": "into", "into": "into", "message": "message"} | _NOTHING,
    "merge",
)
_REMOVE = Foreign("worktree", _WHICH | {"force": "discard"} | _NOTHING, "remove")
_PIPELINE = Foreign(
    "pipeline",
    dict.fromkeys(("name", "pipeline", "pipeline_name"), "pipeline")
    | {"inputs": "inputs", "arguments": "inputs", **_NOTHING},
)
FOREIGN: Mapping[str, Mapping[str, Foreign]] = {
    "agents": {
        "spawn_agent": _SPAWN,
        "start_agent": _SPAWN,
        "wait_for_agent": _WAIT,
    },
    "clones": {
        "create_clone": _CREATE,
        "merge_clone": _MERGE,
        "merge_clone_to_target": _MERGE,
        "delete_clone": _REMOVE,
    },
    "worktrees": {
        "create_worktree": _CREATE,
        "merge_worktree": _MERGE,
        "delete_worktree": _REMOVE,
    },
    "workflows": {
        "pipeline_eval": Foreign("set", {"data": "set"}),
        "fail_pipeline": Foreign("fail", {"message": "fail"}),
        "run_pipeline": _PIPELINE,
        "wait_for_completion": _WAIT,
    },
}
_EVERY = {name: each for table in FOREIGN.values() for name, each in table.items()}


def foreign_step(server: str | None, tool: str) -> Foreign | str | None:
    """The step that a tool is; None for one of our table, a text if there is none.

    Without a server any of them is meant.
    """
    if server is None:
        return _EVERY.get(tool)
    room = server.removesuffix("-ops").rpartition("-")[2]
    if room in _TABLES:
        return None
    if room not in FOREIGN:
        servers = ", ".join(f"-{each}" for each in sorted({*FOREIGN, *_TABLES}))
        return (
            f"no server {server!r} is known here{did_you_mean(room, FOREIGN)}; a step "
            f"can name those that end in {servers}; the tools of others are for agents"
        )
    found = FOREIGN[room].get(tool)
    if found is None:
        there = f"; there are {', '.join(FOREIGN[room])}"
        hint = did_you_mean_tool(tool, FOREIGN[room]) or there
        return f"{server} has no tool {tool!r} here{hint}"
    return found
