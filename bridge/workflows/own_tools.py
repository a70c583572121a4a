"""The tools of ours that a workflow can name, call, or wait for.

Public files spread them over several servers, as in `x-tasks:get_task`: all of those
are the one server of hostbridge.
"""

from __future__ import annotations

from collections.abc import Collection

from bridge.agents.diagnostic import did_you_mean_tool

# Those of agents and variables; a step calls none of them, but for spawn_agent.
OF_AGENTS = frozenset({
    "start_agent", "spawn_agent", "wait_for_agent", "cancel_agent", "status",
    "get_variables", "set_variables", "run_flow", "wait_for_flow", "cancel_flow",
    "validate_change", "build_and_validate",
})  # fmt: skip
STARTERS = (
    "start_agent", "spawn_agent", "run_flow", "validate_change", "build_and_validate",
)  # fmt: skip
SPAWNS = frozenset({"spawn_agent", "start_agent"})


def callable_tools() -> frozenset[str]:
    """The tools that a step can call: those of tasks."""
    from bridge.tasks.tool_table import TOOLS

    return frozenset(TOOLS)


def wrong_arguments(tool: str, arguments: Collection[str]) -> dict[str, str]:
    """What is wrong with the arguments of a call, by name; those it lacks by none."""
    from bridge.tasks.tool_table import TOOLS

    return TOOLS[tool].wrong_names(arguments)


def own_tools() -> frozenset[str]:
    """Every tool of ours that a model can call."""
    return callable_tools() | OF_AGENTS


def near_tool(name: str, known: Collection[str] | None = None) -> str:
    """`; did you mean …?` of our tools: one that others call so, or a similar one."""
    from bridge.tasks.tool_table import ELSEWHERE

    if meant := ELSEWHERE.get(name):
        return f"; did you mean {meant!r}?"
    return did_you_mean_tool(name, own_tools() if known is None else known)
