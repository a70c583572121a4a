"""What rests on an answer that is not there any more does not go on."""

import pytest
from engine.pipeworld import agent, approval, pipeline, tool

from bridge.api.flow_result import result_of_run

BLOCKED = {"status": "blocked"}


def remove(file):
    file.unlink()


def damage(file):
    file.write_bytes(b'{"x')


@pytest.fixture(params=[remove, damage])
def lose(request, world):
    def act(run):
        (file,) = world.store.place.state.glob(f"responses/{run}-a-*.json")
        request.param(file)

    return act


@pytest.mark.parametrize("said", [BLOCKED, {}], ids=["failed", "ok"])
def test_a_condition_about_it_cannot_be_decided(world, lose, said):
    """Of nothing it would be true that it is not blocked."""
    guarded = tool("set", "deployed") | {"if": 'steps.a.output.status != "blocked"'}
    plan = pipeline(
        a=agent("a", on_failure="skip"), ask=approval("Go on?"), deploy=guarded
    )
    run = world.begin(plan)
    world.answered(run, "a", **said)
    lose(run)

    world.told(run, "yes")

    now = world.run(run)
    assert now["status"] == "failed"
    assert f"the answer of a is lost ({run}-a-1-1)" in now["why"]
    assert world.states(run)["deploy"] == "stopped"


def test_a_text_with_it_is_asked_of_nobody(world, lose):
    b = agent("b", "${{ steps.a.output.summary }}")
    plan = pipeline(a=agent("a"), ask=approval("Go on?"), b=b)
    run = world.begin(plan)
    world.answered(run, "a", "FIRST")
    lose(run)

    world.told(run, "yes")

    assert world.waiting() == {}
    assert "the answer of a is lost" in world.run(run)["why"]


def test_what_a_run_came_to_says_so(world, lose):
    run = world.begin(pipeline(a=agent("a")))
    world.answered(run, "a", "FIRST")
    assert world.run(run)["status"] == "completed"
    lose(run)

    done = result_of_run(world.store, world.settings, run)

    assert (done.success, done.answers) == (False, [])
    assert done.why == f"the answer of a is lost ({run}-a-1-1)"
