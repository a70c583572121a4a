"""The shipped coordinator: which steps it has, in which order, and who does them."""

import pytest
import yaml

from bridge.shipped import optional_folder

# From a task to closed subtasks.
ORDER = [
    "check_expansion", "spawn_expander", "wait_expander", "find_work", "clone",
    "spawn_dev", "wait_dev", "spawn_qa", "wait_qa", "spawn_validator",
    "wait_validator", "spawn_merge", "wait_merge", "close_task", "cleanup", "next",
]  # fmt: skip


@pytest.fixture(scope="module")
def steps():
    text = (optional_folder("workflows") / "coordinator.yaml").read_text()
    return {step["id"]: step for step in yaml.safe_load(text)["steps"]}


def test_its_steps_come_in_order(steps):
    assert [name for name in steps if name in ORDER] == ORDER


def test_only_a_task_that_is_not_divided_is_divided(steps):
    """In a conversation of its own, by task-ops."""
    assert steps["check_expansion"]["mcp"]["tool"] == "get_task"
    expander = steps["spawn_expander"]
    is_divided = "steps.check_expansion.output.isExpanded"
    assert expander["condition"] == f"${{{{ not {is_divided} }}}}"
    given = expander["mcp"]["arguments"]
    assert expander["mcp"]["tool"] == "spawn_agent"
    assert (given["agent"], given["workflow"]) == ("task-ops", "expansion")
    assert given["task_id"] == "${{ inputs.task }}"


AGENTS = {
    "spawn_dev": "developer",
    "spawn_qa": "qa-reviewer",
    "spawn_validator": "task-ops",
    "spawn_merge": "merge",
}


@pytest.mark.parametrize(("step", "agent"), AGENTS.items())
def test_each_agent_works_by_itself_in_a_worktree(steps, step, agent):
    """It is waited for in a step of its own."""
    assert (steps[step]["agent"], steps[step]["background"]) == (agent, True)
    assert "worktree" in steps[step]
    assert steps[step.replace("spawn", "wait")]["wait"] == step


def test_validating_is_a_workflow_and_comes_between_review_and_closing(steps):
    names = list(steps)
    places = [names.index(n) for n in ("wait_qa", "wait_validator", "close_task")]
    assert places == sorted(places)
    assert steps["spawn_validator"]["workflow"] == "validation"
