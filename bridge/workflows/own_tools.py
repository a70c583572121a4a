"""The tools of ours that a workflow can name, call, or wait for.

Public files spread them over several servers, as in `x-tasks:get_task`: all of those
are the one server of hostbridge.
"""

from __future__ import annotations

from bridge.policy.step_workflow import OWN_SERVER

# Those of agents and variables; a step calls none of them, but for spawn_agent.
OF_AGENTS = frozenset({
    "start_agent", "spawn_agent", "wait_for_agent", "cancel_agent", "status",
    "get_variables", "set_variables", "run_flow", "wait_for_flow", "cancel_flow",
    "activate_workflow", "workflow_status", "end_workflow",
})  # fmt: skip
SPAWNS = frozenset({"spawn_agent", "start_agent"})
_SUFFIXES = ("-tasks", "-tasks-ops", "-agents", "-memory", "-workflows")


_OF_TASKS = frozenset({
    "get_task", "list_tasks", "create_task", "update_task", "claim_task",
    "release_task", "mark_needs_review", "mark_task_needs_review", "escalate_task",
    "reopen_task", "close_task", "list_ready_tasks", "save_expansion_spec",
    "get_expansion_spec", "execute_expansion", "validate_task",
    "get_validation_status", "get_validation_context_smart",
    "orchestrate_ready_tasks", "search_memories",
})  # fmt: skip


def callable_tools() -> frozenset[str]:
    """The tools that a step can call: those of tasks."""
    return _OF_TASKS


def own_tools() -> frozenset[str]:
    """Every tool of ours that a model can call."""
    return callable_tools() | OF_AGENTS


def is_own_server(server: str) -> bool:
    """Whether a server is ours, or stands for ours in a public file."""
    return server == OWN_SERVER or server.endswith(_SUFFIXES)
