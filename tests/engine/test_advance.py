"""A run in a real store: what is asked, what comes of it, and what lies on disk."""

import pytest
from engine.flowworld import lives
from flow.simulation import plan_of


def test_a_run_asks_one_after_the_other_and_puts_values_in(world):
    run = world.begin('a:"Look":seen -> b:"Mend {seen}"')
    assert [*world.waiting()] == ["a"]
    assert lives(world) == [run]

    world.answered(run, "a", "three {seen} faults")
    asked = world.waiting()["b"]
    assert asked.prompt == "Mend three {seen} faults"
    assert asked.request_id == f"{run}-node-1-1-1"

    ended = world.answered(run, "b", "mended")
    assert (ended["status"], ended["out"]) == ("completed", [f"{run}-node-1-1-1"])
    assert lives(world) == []


def states(run):
    return {name: entry.get("state") for name, entry in run["nodes"].items()}


def test_branches_run_at_once_and_the_next_step_waits_for_all(world):
    run = world.begin('[a:"1":x || b:"2":y] -> c:"{x} and {y.summary}"')
    assert [*world.waiting()] == ["a", "b"]

    assert world.answered(run, "b", "two")["open"] == ["node-0"]
    world.answered(run, "a", "one")

    assert world.waiting()["c"].prompt == "one and two"


def test_a_failure_ends_the_run_and_cancels_what_else_runs(world):
    run = world.begin('[a:"1" || b:"2"] -> c:"3"')

    ended = world.answered(run, "a", "I could not", status="failed")

    expected = ("failed", {"node-0": "stopped", "node-1": "cancelled"})
    assert (ended["status"], states(ended)) == expected
    assert ended["why"].startswith("node-0: agent_failed: ")
    assert world.waiting() == {}
    assert lives(world) == []


def test_a_condition_looks_into_the_answer(world):
    """One that cannot be decided ends the run."""
    source = 'a:"1":found (if {found.count} > 2 && issues)~> b:"2"'
    run = world.begin(source)
    assert "`issues`" in world.waiting()["a"].prompt
    world.answered(run, "a", "some", count=3, issues=["one"])
    assert [*world.waiting()] == ["b"]

    run = world.begin(source)
    ended = world.answered(run, "a", "some", count="three")

    why = "a condition cannot be decided: '>' cannot compare a text with a number"
    assert (ended["status"], ended["why"]) == ("failed", f"node-1: {why}")


def test_a_retry_asks_again_and_counts(world):
    run = world.begin('retry(2) { a:"1" } -> b:"2"')

    for number in range(1, 4):
        assert world.waiting()["a"].request_id == f"{run}-node-0-1-{number}"
        ended = world.answered(run, "a", "host_gone")

    assert (ended["status"], ended["asked"]) == ("failed", 3)
    assert ended["why"] == "node-0: host_gone: as the test wants"


def test_a_loop_is_gone_through_as_often_as_it_may_be(world):
    run = world.begin('@top -> a:"Again: {found?}":found (if issues)~> @top(2)')

    prompts = []
    while world.waiting():
        prompts.append(world.waiting()["a"].prompt.partition("\n")[0])
        ended = world.answered(run, "a", f"round {len(prompts)}", issues=["one"])

    assert prompts == ["Again: ", "Again: round 1", "Again: round 2"]
    expected = ("failed", "node-3: used up after 3 rounds: still so: issues")
    assert (ended["status"], ended["why"]) == expected


def test_a_retry_that_is_used_up_says_what_has_failed(world):
    run = world.begin('retry(1) { a:"1" -> b:"2" }')
    for agent, said in (("a", ""), ("b", "host_gone")) * 2:
        ended = world.answered(run, agent, said)

    why = "node-3: used up after 2 rounds: node-2: host_gone: as the test wants"
    assert ended["why"] == why


CLOSED = "{type: object, additionalProperties: false, properties: {%s: {}}}"
BEGINNINGS = {
    "issues": CLOSED % "issues",
    "open": "{type: object, properties: {issues: {}}}",
    "none": CLOSED % "found",
    "free": "{type: object}",
}


@pytest.mark.parametrize("form", BEGINNINGS)
def test_an_agent_is_asked_for_issues_unless_its_own_answers_say(world, form):
    folder = world.settings.home / "agents"
    folder.mkdir(parents=True)
    words = f"name: v\nprompt: Look\noutput_schema: {BEGINNINGS[form]}\n"
    (folder / "v.yaml").write_text(words)
    plan = plan_of('v:"1" (if issues)~> a:"2"')

    world.begin(plan)

    said = world.waiting()["v"].prompt
    assert ("are issues" in said) == (form == "free")


def test_prune_keeps_what_a_living_run_has_asked(world):
    run = world.begin('a:"1":x -> b:"2 {x}"')
    world.answered(run, "a", "kept")
    assert world.store.prune(older_than_days=0).requests == 0

    assert world.answered(run, "b")["status"] == "completed"
    gone = world.store.prune(older_than_days=0)

    assert (gone.requests, gone.runs) == (2, 1)
    assert list((world.store.place.state / "runs").iterdir()) == []
