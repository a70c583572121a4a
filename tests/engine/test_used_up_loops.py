"""A used-up loop has failed, with its last reason, unless its author says otherwise."""

from pathlib import Path

import pytest
from flow.simulation import plan_of

from bridge.engine import by_hand
from bridge.engine.begin import new_run
from bridge.engine.rehearsal import Rehearsal
from bridge.pipelines.compiler import compile_pipeline
from bridge.pipelines.reader import read_pipeline

FAILS = {"status": "failed", "summary": "red"}
FOUND = {"status": "success", "summary": "some", "issues": ["one"]}
MEND = """
allow: ["Bash(pytest)"]
steps:
  - {id: tests, exec: [pytest], on_failure: skip}
  - id: mend
    condition: steps.tests.status == "failed"
    prompt: Mend it.
    repeat: {from: tests, while: steps.tests.status == "failed", max: 3%s}
  - {id: after, prompt: Go on.}
"""


def rehearsed(plan, policy="abort", **answers):
    """Who was asked, how the run ended, and why; nobody is really asked."""
    run = new_run("r", plan, {"policy": policy}, now_ms=0)
    rehearsal = Rehearsal(plan, run, answers)
    went = [
        each.who if "node-0" in plan["nodes"] else each.node for each in rehearsal.go()
    ]
    return " ".join(went), rehearsal.run["status"], rehearsal.run["why"]


def flow(source, **answers):
    return rehearsed(plan_of(source), **answers)


def pipeline(text, **answers):
    read = read_pipeline(text, Path("p.yaml"))
    assert read.errors == []
    return rehearsed(compile_pipeline(read), **answers)


def test_a_pipeline_whose_loop_is_used_up_fails_with_the_last_reason():
    """The first example of the page ended well after four failed rounds."""
    assert pipeline(MEND % "", tests=FAILS) == (
        "tests mend tests mend tests mend tests",
        "failed",
        "mend: used up after 4 rounds: tests: agent_failed: red",
    )


@pytest.mark.parametrize("failing", range(4))
def test_after_the_last_mend_the_check_runs_once_more(failing):
    went, status, _ = pipeline(MEND % "", tests=[*[FAILS] * failing, "green"])

    assert (went, status) == ("tests mend " * failing + "tests after", "completed")


def test_a_pipeline_goes_on_where_its_author_says_so():
    went, status, why = pipeline(MEND % ", then: go on", tests=FAILS)

    assert (went, status, why) == ("tests mend " * 4 + "after", "completed", "")


def test_on_failure_skip_is_for_a_used_up_loop_too():
    """The next steps see that it has failed, and why."""
    text = MEND.replace("Mend it.", "Mend it.\n    on_failure: skip") % ""
    text = text.replace("Go on.", "'${{ steps.mend.status }}: ${{ steps.mend.error }}'")
    read = read_pipeline(text, Path("p.yaml"))
    plan = compile_pipeline(read)
    run = new_run("r", plan, {}, now_ms=0)
    *_, last = Rehearsal(plan, run, {"tests": FAILS}).go()

    assert (last.node, last.text) == (
        "after",
        "failed: used up after 4 rounds: tests: agent_failed: red",
    )


def test_a_condition_about_the_step_itself_is_asked_when_it_has_ended():
    text = """
steps:
  - id: look
    prompt: Look.
    repeat: {from: look, while: steps.look.output.more, max: 2}
"""
    assert pipeline(text, look={"more": True}) == (
        "look look look",
        "failed",
        "look: used up after 3 rounds: still so: steps.look.output.more",
    )


def test_nobody_is_asked_to_approve_what_nothing_would_look_at():
    text = MEND.replace("Mend it.", "Mend it.\n    approval: true") % ""

    went, status, why = pipeline(text, tests=FAILS)

    assert went == "tests mend-approval mend " * 3 + "tests"
    assert (status, why.partition(":")[0]) == ("failed", "mend-approval")


def test_a_counted_loop_ends_well():
    """Without a condition that many rounds are what its author wants."""
    text = "steps: [{id: a, prompt: x}, {id: b, prompt: y, repeat: {from: a, max: 2}}]"

    assert pipeline(text) == ("a b a b a b", "completed", "")
    assert flow("@l -> a -> @l(2)") == ("a a a", "completed", "")


@pytest.mark.parametrize(
    ("source", "answers", "went"),
    [
        ("@l -> a (if failed)~> @l(2)", {"a": FAILS}, "a a a"),
        ("@l -> a (if issues)~> @l(1)", {"a": FOUND}, "a a"),
        # The last mend is looked at, as in a pipeline.
        ("@l -> a (if failed)~> b -> @l(2)", {"a": FAILS}, "a b a b a"),
        # A condition that asks about something else does not look at it.
        ("@l -> a (if issues)~> @l(1) (if issues)~> b", {"a": FOUND}, "a a"),
    ],
)
def test_a_flow_whose_loop_is_used_up_fails(source, answers, went):
    asked, status, why = flow(source, **answers)

    assert (asked, status) == (went, "failed")
    assert f": used up after {went.count('a')} rounds: " in why


@pytest.mark.parametrize(
    ("source", "answers", "went"),
    [
        # The steps behind the jump.
        ("@l -> a (if failed)~> @l(1) -> b", {"a": FAILS}, "a a b"),
        ("@l -> a (if failed)~> b -> @l(1) -> c", {"a": FAILS}, "a b a b c"),
        # A condition that looks at the failure, though no step has failed.
        ("@l -> a (if issues)~> @l(1) (if failed)~> b", {"a": FOUND}, "a a b"),
        ("@l -> a (if issues)~> @l(1) (if passed)~> b", {"a": FOUND}, "a a"),
        # What tries it again, as any failure in it.
        ("retry(1) { @l -> a (if issues)~> @l(1) -> b } -> c", {"a": FOUND}, "a a b c"),
    ],
)
def test_a_flow_goes_on_where_its_author_says_so(source, answers, went):
    assert flow(source, **answers) == (went, "completed", "")


def test_a_retry_takes_a_used_up_loop_for_the_failure_that_it_is():
    asked, status, why = flow("retry(1) { @l -> a (if issues)~> @l(1) } -> b", a=FOUND)

    assert (asked, status) == ("a a a a", "failed")
    assert "used up after 2 rounds: " in why
    assert "still so: issues" in why


def test_the_policy_of_the_run_is_asked():
    source = "[ @l -> a (if issues)~> @l(1) ] -> b"

    assert flow(source, a=FOUND, policy="skip")[:2] == ("a a b", "completed")
    assert flow(source, a=FOUND, policy="ask")[:2] == ("a a", "paused")


def test_the_reason_is_there_though_another_process_heard_it(world):
    """Of two that failed one had ended in an earlier step of the run."""
    run = world.begin('@l -> [a:"1" || b:"2"] (if any failed)~> @l(1)')
    for _ in range(2):
        world.answered(run, "a", status="failed")
        ended = world.answered(run, "b")

    assert ended["status"] == "failed"
    assert "used up after 2 rounds: node-1: agent_failed: " in ended["why"]


def test_a_run_that_is_resumed_may_go_round_as_often_again(world):
    run = world.begin('@l -> a:"1" (if failed)~> b:"2" -> @l(1)')
    for agent in ("a", "b", "a"):
        status = "failed" if agent == "a" else "success"
        ended = world.answered(run, agent, status=status)
    why = "node-2: used up after 2 rounds: node-1: agent_failed"
    assert ended["why"].startswith(why)

    world.advance(run, by_hand.resume)
    world.answered(run, "b")

    assert [*world.waiting()] == ["a"]
