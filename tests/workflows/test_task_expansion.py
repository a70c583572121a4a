"""The shipped workflow task-expansion: each way through it, over real tasks."""

import pytest
from shippedworld import Shipped

EXPANSION = "task-expansion"
SPEC = {"subtasks": ["Write it", {"title": "Test it", "depends_on": [0]}]}
PLANNED = {"task_id": "#1", "spec": SPEC}
READ_ONLY = ("Write", "Edit", "NotebookEdit", "Bash")


@pytest.fixture
def expansion(tmp_path):
    """Of a task that nobody has divided; it has not begun."""
    world = Shipped(tmp_path, EXPANSION)
    world.tools.task("Epic")
    return world


# Dividing a task


def test_most_tasks_are_divided_without_a_question(expansion):
    expansion.begin()
    expansion.says(research_complete=True)
    expansion.uses("save_expansion_spec", **PLANNED)

    went = "check_resume research design execute complete"
    assert expansion.path == went.split()
    assert not expansion.is_active
    assert expansion.task()["children"] == 2
    assert "#2, #3" in expansion.words[-2]


@pytest.mark.parametrize("tool", ["spawn_agent", "start_agent", "wait_for_agent"])
def test_research_has_ended_when_its_agent_has(expansion, tool):
    expansion.begin()
    expansion.told(f"mcp__hostbridge__{tool}", {"success": False, "answer": None})
    before = expansion.step
    expansion.told(f"mcp__hostbridge__{tool}", {"success": True, "answer": "x"})

    assert (before, expansion.step) == ("research", "design")


def test_a_question_is_asked_only_when_one_is_needed(expansion):
    expansion.begin()
    expansion.says(needs_clarification=True)
    asked = expansion.refusal("AskUserQuestion")
    expansion.told("AskUserQuestion", {"answers": {"Which?": "both of them"}})

    assert asked is None
    assert expansion.path == ["check_resume", "research", "clarify", "design"]
    assert expansion.refusal("AskUserQuestion") is not None
    assert "both of them" in expansion.words[-1]
    assert expansion.variables["clarification"] == {"Which?": "both of them"}


def test_an_answer_in_words_leads_on_as_well(expansion):
    """The person types; the model reads it and says what was decided."""
    expansion.begin()
    expansion.says(needs_clarification=True)
    expansion.says(needs_clarification=False, clarification="the first")

    assert expansion.step == "design"
    assert "the first" in expansion.words[-1]


def test_a_question_may_come_up_while_planning(expansion):
    expansion.begin()
    expansion.says(research_complete=True)
    expansion.says(needs_clarification=True)
    expansion.told("AskUserQuestion", {"answers": {"Which?": "both"}})

    assert expansion.path[2:] == ["design", "clarify", "design"]


def test_a_plan_that_is_saved_is_not_made_again(expansion):
    expansion.tools("save_expansion_spec", **PLANNED)
    expansion.begin()

    assert expansion.path == ["check_resume", "execute", "complete"]
    assert expansion.task()["children"] == 2


def test_a_task_that_is_divided_stays_as_it_is(expansion):
    expansion.tools("save_expansion_spec", **PLANNED)
    expansion.tools("execute_expansion", task_id="#1")
    expansion.begin()

    assert expansion.path == ["check_resume", "complete"]
    assert expansion.task()["children"] == 2


def test_error_a_task_that_is_not_there(expansion):
    """It stays in its first step, says why, and goes on if the task appears."""
    expansion.begin(target_task_id="#2")
    words = expansion.words[-1]
    expansion.tools.task("It was late")
    expansion.uses("get_expansion_spec", task_id="#2")

    assert "#2 cannot be looked up: " in words
    assert expansion.path == ["check_resume", "research"]


def test_error_a_plan_that_cannot_be_carried_out(expansion):
    """The task was closed meanwhile: nothing is said to be there that is not."""
    expansion.begin()
    expansion.says(research_complete=True)
    expansion.tools("save_expansion_spec", **PLANNED)
    expansion.tools("close_task", task_id="#1")
    expansion.told("mcp__hostbridge__save_expansion_spec", {"saved": True})

    assert expansion.step == "execute"
    assert "could not be created" in expansion.words[-1]
    assert expansion.is_active
    assert expansion.task()["children"] == 0


def test_nothing_is_changed_while_a_task_is_divided(expansion):
    expansion.begin()
    for step, is_needed in (("research", True), ("clarify", False), ("design", True)):
        assert expansion.step == step
        assert all(map(expansion.refusal, READ_ONLY))
        expansion.says(needs_clarification=is_needed)
