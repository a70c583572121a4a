"""A run of a pipeline is seen to its end by whoever began it; each step is shown."""

import sys
from pathlib import Path

import pytest
from engine.pipeworld import PipeWorld, agent, approval, pipeline, program, tool, wait

from bridge.api.flow_result import result_of_run
from bridge.api.follow_run import Follower
from bridge.api.run_steps import steps_of
from bridge.engine import by_hand
from bridge.engine.view import view


@pytest.fixture
def world(tmp_path):
    return PipeWorld(tmp_path)


LEFT_OUT = {
    **tool("set", **{"if": "inputs.no"}),
    "detail": {"tool": {"name": "set", "arguments": 1}, "condition": "inputs.no"},
}


def seen(world, run):
    looked = view(world.store, run)
    steps = steps_of(world.store, world.settings, looked)
    return {step.node: (step.says, step.why) for step in steps}


def test_who_follows_a_run_does_its_programs(world):
    run = world.begin(
        pipeline(
            one=program(sys.executable, "-c", "print('a')"),
            pause=wait(seconds=0),
            two=program(sys.executable, "-c", "print('b')"),
            _outputs={"both": "${{ steps.one.output.stdout }}${{ steps.two.status }}"},
        )
    )

    done = Follower(world.store, world.settings, world.store).follow(run, {})

    assert (done.status, done.answers) == ("completed", [{"both": "a\ncompleted"}])
    assert done.text == '{"both": "a\\ncompleted"}'


def test_each_step_says_what_it_waits_for_and_why_it_was_left_out(world):
    run = world.begin(
        pipeline(
            out=LEFT_OUT,
            spawn=agent("a", background=True),
            broken=tool("fail", {"message": "late"}, on_failure="skip"),
            awaited=wait(node="spawn", deadline_s=60),
            ask=approval("Go on?", deadline_s=60),
            _inputs={"no": {"default": False}},
        )
    )

    assert seen(world, run) == {
        "out": ("left out", "not so: inputs.no"),
        "spawn": ("background: no open session", ""),
        "broken": ("error", "late"),
        "awaited": ("waits for spawn, 60 s left", ""),
        "ask": ("after awaited", ""),
    }
    world.answer("a")
    world.advance(run)
    assert seen(world, run)["ask"][0] == "waits for you, 60 s left"


def test_what_an_agent_asks_is_shown(world):
    run = world.begin(pipeline(only=agent("a")))
    world.answer("a", "?", status="blocked", question="Which?")
    world.advance(run)

    assert seen(world, run) == {"only": ("waits for you", "Which?")}


def test_a_run_that_is_cancelled_says_so(world):
    run = world.begin(pipeline(only=program("sleep", "1000")))
    world.advance(run, by_hand.cancel)

    assert result_of_run(world.store, world.settings, run).status == "cancelled"
    assert Path(world.store.place.state, "runs", run, "results").exists()
