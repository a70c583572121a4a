"""An agent that cannot ask a person asks through its run, and goes on after that."""

import json

import pytest
from engine.flowworld import World, child_of
from engine.pipeworld import agent, pipeline, wait
from engine.test_called_flows import calling

from bridge.engine import by_hand
from bridge.engine.view import question, view
from bridge.protocol.json_schema import problem_of


def asks(world, run, question="Which one?", agent="a"):
    asked = {"status": "blocked", "question": question}
    return world.answered(run, agent, "not clear", **asked)


def test_its_question_is_a_checkpoint_and_the_answer_has_it_go_on(world):
    run = world.begin('a:"first":x -> b:"then {x}"')
    asks(world, run)

    seen = view(world.store, run)
    assert [*seen.checkpoints()] == [(run, "node-0", f"{run}-node-0-1-1")]
    assert (seen.run["status"], [*seen.open_requests()]) == ("running", [])
    assert question(world.store, run, "node-0") == "Which one?"
    world.told(run, "no, the ```second```")

    (again,) = world.waiting().values()
    assert again.request_id == f"{run}-node-0-1-2"
    assert again.prompt.startswith("first\n\nYou were asked this before")
    assert '"question": "Which one?"' in again.prompt
    assert "````\nno, the ```second```\n````" in again.prompt
    world.answered(run, "a", "the second")
    assert world.waiting()["b"].prompt == "then the second"


@pytest.mark.parametrize(
    "text",
    ["{x} {{ task }} ${{ steps.x.output }} @ok -> b", "```\n" * 50, "y" * 2_000_000],
    ids=["templates", "fences", "huge"],
)
def test_an_answer_is_data(world, text):
    run = world.begin('a:"first":x -> b:"then {x}"')
    asks(world, run)
    world.told(run, text)

    assert f"`\n{text}\n```" in world.waiting()["a"].prompt


def test_an_answer_that_no_prompt_can_hold_ends_the_step(world):
    """By its name, and the run can be resumed."""
    run = world.begin('a:"first"')
    asks(world, run)
    world.told(run, "y" * 10_000_000)

    ended = world.advance(run)
    assert (ended["status"], world.waiting()) == ("failed", {})
    assert "prompt" in ended["why"]


def test_several_questions_are_one(world):
    run = world.begin('a:"first"')
    asks(world, run, ["One?", "Two?"])

    assert question(world.store, run, "node-0") == "One?\nTwo?"


@pytest.mark.parametrize("question", ["", "  ", [], None, 3, {"a": 1}])
def test_blocked_without_a_question_is_a_failure(world, question):
    run = world.begin('a:"first"')
    assert asks(world, run, question)["status"] == "failed"


def test_it_may_ask_three_times(world):
    run = world.begin('a:"first"')
    for number in range(3):
        asks(world, run, f"Question {number}?")
        world.told(run, f"answer {number}")
    prompt = world.waiting()["a"].prompt
    assert all(f"answer {number}" in prompt for number in range(3))

    ended = asks(world, run)

    assert ended["status"] == "failed"
    assert ended["why"].startswith("node-0: agent_blocked")


def test_its_questions_are_no_attempts(world):
    """Retries count failures alone."""
    run = world.begin(pipeline(only=agent("a", retry=1)))
    asks(world, run)
    world.told(run, "this")
    world.answered(run, "a", "host_gone")

    (again,) = world.waiting().values()
    assert again.request_id == f"{run}-only-1-3"
    assert "this" in again.prompt
    assert world.answered(run, "a", "host_gone")["status"] == "failed"


def test_who_resumes_a_run_that_was_cancelled_meanwhile_has_it_asked_again(world):
    run = world.begin('a:"first"')
    asks(world, run)
    world.advance(run, by_hand.cancel)
    world.advance(run, by_hand.resume)

    assert world.waiting()["a"].prompt == "first"


def test_an_agent_of_a_called_flow_asks_too(world):
    run = world.begin(calling('a:"Make {{what}}"'))
    child = child_of(world)
    asks(world, child)

    waits = (child, "node-0", f"{child}-node-0-1-1")
    assert [*view(world.store, run).checkpoints()] == [waits]


REPORT = {
    "type": "object",
    "required": ["status", "summary"],
    "properties": {"status": {}, "summary": {}, "question": {"type": "string"}},
}


@pytest.fixture
def reporter(tmp_path):
    """An agent whose reports have a form of their own."""
    agents = tmp_path / "home" / "agents"
    agents.mkdir(parents=True)
    lines = {"name": "own", "prompt": "do it", "output_schema": REPORT}
    (agents / "own.yaml").write_text(json.dumps(lines))
    return World(tmp_path)


@pytest.mark.parametrize("status", ["failed", "blocked"])
def test_a_report_in_a_form_of_its_own_that_says_failed_is_a_failure(reporter, status):
    run = reporter.begin('own:"first" -> b:"then"')
    ended = reporter.answered(run, "own", "no compiler", status=status)

    assert (ended["status"], reporter.waiting()) == ("failed", {})
    assert ended["why"] == f"node-0: agent_{status}: no compiler"


def test_a_report_in_a_form_of_its_own_may_ask(reporter):
    run = reporter.begin('own:"first" -> b:"then"')
    asks(reporter, run, agent="own")

    assert question(reporter.store, run, "node-0") == "Which one?"


BUILT_IN = {
    "researcher": {"answer": "It depends.", "findings": [], "confidence": "low"},
    "qa-reviewer": {"approved": False, "feedback": [], "summary": "x", "evidence": []},
    "developer": {"status": "blocked", "summary": "x", "files": [], "evidence": []},
    "merge": {"status": "blocked", "summary": "x", "files": [], "evidence": []},
    "task-ops": {"status": "blocked", "summary": "x"},
}


@pytest.mark.parametrize("agent", BUILT_IN)
def test_each_built_in_agent_that_may_ask_is_heard(world, agent):
    """What its schema takes as a question holds the run, whatever else it says."""
    run = world.begin(f'{agent}:"first" -> b:"then"')
    schema = world.waiting()[agent].answer_schema
    answer = {**BUILT_IN[agent], "status": "blocked", "question": "Which one?"}
    assert problem_of(schema, answer) is None
    world.answer_with(agent, answer)
    world.advance(run)

    assert question(world.store, run, "node-0") == "Which one?"


def test_a_field_that_is_called_so_asks_nobody(reporter):
    """An agent that makes a quiz has questions in its answers."""
    run = reporter.begin('own:"first" -> b:"then"')
    reporter.answered(run, "own", "a quiz", status="success", question="Who was it?")

    assert "b" in reporter.waiting()


def in_the_background(world, **of_wait):
    plan = pipeline(
        w=agent("a", "first", background=True),
        for_w=wait(node="w", **of_wait),
        last=agent("b", "then ${{ steps.for_w.output.summary }}"),
    )
    return world.begin(plan)


def test_an_agent_in_the_background_asks_once_somebody_waits_for_it(world):
    run = in_the_background(world)
    asks(world, run)

    assert question(world.store, run, "w") == "Which one?"
    assert [*view(world.store, run).checkpoints()] == [(run, "w", f"{run}-w-1-1")]
    world.told(run, "the second")
    (again,) = world.waiting().values()
    assert again.request_id == f"{run}-w-1-2"
    assert "You were asked this before" in again.prompt
    world.answered(run, "a", "it was the second")

    assert world.waiting()["b"].prompt == "then it was the second"
    assert world.answered(run, "b")["status"] == "completed"


def test_a_wait_that_is_over_asks_no_more(world):
    run = in_the_background(world, deadline_s=60, on_failure="skip")
    asks(world, run)
    world.clock.go_on(61)
    world.advance(run)

    assert [*view(world.store, run).checkpoints()] == []
    assert "b" in world.waiting()
