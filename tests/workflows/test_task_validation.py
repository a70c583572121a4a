"""The shipped workflow task-validation: each way through it, over real tasks."""

import pytest
from shippedworld import Shipped

from bridge.store.variables import NotYours

WRITING = ("Write", "Edit", "NotebookEdit", "Bash")


@pytest.fixture
def validation(tmp_path, monkeypatch):
    """Of a task that has a criterion; it has not begun."""
    monkeypatch.setattr("bridge.tasks.tools._DIFF_S", 300.0)
    world = Shipped(tmp_path, "task-validation")
    world.tools.task("It greets", validation_criteria="greet.py is there")
    return world


def begun(world, **params):
    """A validation whose validator is at work."""
    world.begin(**params)
    world.uses("get_validation_context_smart", task_id="#1")
    world.uses("validate_task", task_id="#1")
    return world


def verdict(world, *, passed):
    """The validator answers, and the model looks."""
    feedback = [] if passed else ["no greet.py"]
    world.tools.validators.answer(passed=passed, feedback=feedback)
    world.uses("get_validation_status", task_id="#1")


def mended(world):
    world.says(fix_done=True)
    world.uses("validate_task", task_id="#1")


def reviewed(world, tool="spawn_agent", **answer):
    """A second opinion, on what has passed."""
    verdict(world, passed=True)
    before = world.step
    world.told(f"mcp__hostbridge__{tool}", {"success": True, "answer": answer})
    return before


def fails(world, times):
    for last in (n == times - 1 for n in range(times)):
        verdict(world, passed=False)
        if not last:
            mended(world)


def test_what_passes_is_closed(validation):
    begun(validation)
    running = validation.step
    verdict(validation, passed=True)

    assert running == "validate"
    assert validation.path == ["gather_context", "validate", "passed", "complete"]
    assert validation.task()["status"] == "closed"
    assert not validation.is_active


def test_what_fails_is_mended_and_looked_at_again(validation):
    """To pass at the last look that there may be is to pass."""
    begun(validation, max_iterations=2)
    verdict(validation, passed=False)
    told = validation.words[-1]
    mended(validation)
    verdict(validation, passed=True)

    assert "- no greet.py" in told
    went = "gather_context validate fix re_validate passed complete"
    assert validation.path == went.split()
    assert validation.variables["validation_iteration"] == 2
    assert validation.task()["status"] == "closed"


@pytest.mark.parametrize("given", [1, 2, None, 5])
def test_it_escalates_exactly_at_its_bound(validation, given):
    """Without one, the setting's."""
    bound = given or 3
    begun(validation, **({"max_iterations": given} if given else {}))
    fails(validation, bound)

    assert validation.path[-2:] == ["escalate", "complete"]
    assert validation.variables["max_iterations"] == bound
    assert validation.path.count("fix") == bound - 1
    assert len(validation.tools.validators.asked) == bound
    task = validation.task()
    assert task["status"] == "escalated"
    assert f"failed its validation {bound} times" in task["reason"]
    assert "no greet.py" in task["reason"]


def test_who_is_led_moves_no_bound(validation):
    begun(validation)

    with pytest.raises(NotYours, match="max_iterations belongs to"):
        validation.says(max_iterations=99)


@pytest.mark.parametrize("tool", ["spawn_agent", "start_agent", "wait_for_agent"])
def test_a_second_opinion_comes_before_closing(validation, tool):
    begun(validation, wants_external_review=True)
    before = reviewed(validation, tool, approved=True, feedback=[])

    assert before == "external_review"
    assert validation.path[-2:] == ["passed", "complete"]
    assert validation.task()["status"] == "closed"


def test_what_the_second_opinion_wants_is_mended(validation):
    begun(validation, wants_external_review=True)
    reviewed(validation, approved=False, feedback=["say why"])

    assert validation.path[-2:] == ["external_review", "fix"]
    assert "- say why" in validation.words[-1]


def test_a_second_opinion_counts_at_the_bound(validation):
    begun(validation, wants_external_review=True, max_iterations=1)
    reviewed(validation, approved=False, feedback=["say why"])

    assert validation.path[-2:] == ["escalate", "complete"]
    assert validation.task()["status"] == "escalated"


def test_a_reviewer_that_fails_decides_nothing(validation):
    begun(validation, wants_external_review=True)
    verdict(validation, passed=True)
    validation.told("mcp__hostbridge__spawn_agent", {"success": False, "error": "gone"})

    assert validation.step == "external_review"


def test_a_task_that_is_changed_meanwhile_is_looked_at_again(validation):
    begun(validation)
    validation.tools("update_task", task_id="#1", description="In French.")
    verdict(validation, passed=True)
    void = validation.step
    validation.uses("validate_task", task_id="#1")
    verdict(validation, passed=True)

    assert void == "validate"
    assert validation.path[-2:] == ["passed", "complete"]
    assert len(validation.tools.validators.asked) == 2


def test_a_task_that_somebody_escalates_meanwhile_is_left(validation):
    begun(validation)
    validation.tools("escalate_task", task_id="#1", reason="A person decides.")
    validation.uses("get_validation_status", task_id="#1")

    assert validation.path[-1] == "complete"
    assert validation.task()["reason"] == "A person decides."


def test_error_what_cannot_be_closed_is_not_said_to_be(validation):
    """A subtask is still open: the model reads why, and the step stays."""
    validation.tools.task("A part", parent_task_id="#1")
    begun(validation)
    verdict(validation, passed=True)
    before = (validation.step, validation.words[-1])
    validation.tools("close_task", task_id="#2")
    validation.uses("close_task", task_id="#1")

    assert before[0] == "passed"
    assert "could not be closed" in before[1]
    assert validation.path[-1] == "complete"


def test_error_what_cannot_be_escalated_is_not_said_to_be(validation):
    """It was closed by force at the last moment."""
    begun(validation, max_iterations=1)
    given = {"task_id": "#1", "force": True, "reason": "Enough."}
    validation.tools("close_task", **given)
    failed = {"state": "failed", "feedback": ["x"]}
    validation.told("mcp__hostbridge__get_validation_status", failed)

    assert validation.step == "escalate"
    assert "could not be" in validation.words[-1]


@pytest.mark.parametrize("tool", ["close_task", "escalate_task"])
def test_only_the_verdict_decides(validation, tool):
    """No step before it closes or escalates a task."""
    full = f"mcp__hostbridge__{tool}"
    validation.begin()
    seen = [validation.refusal(full)]
    validation.uses("get_validation_context_smart", task_id="#1")
    seen.append(validation.refusal(full))
    validation.uses("validate_task", task_id="#1")
    verdict(validation, passed=False)
    seen.append(validation.refusal(full))
    validation.says(fix_done=True)
    seen.append(validation.refusal(full))

    assert validation.step == "re_validate"
    assert all(seen), seen


def test_files_are_changed_only_to_mend(validation):
    validation.begin()
    before = [validation.refusal(tool) for tool in WRITING]
    validation.uses("get_validation_context_smart", task_id="#1")
    validation.uses("validate_task", task_id="#1")
    before += [validation.refusal(tool) for tool in WRITING]
    verdict(validation, passed=False)

    assert all(before)
    assert [validation.refusal(tool) for tool in WRITING] == [None] * 4
