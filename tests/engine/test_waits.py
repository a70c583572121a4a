"""Waits: for agents in the background, for a time; their deadlines hold."""

from __future__ import annotations

import pytest
from engine.pipeworld import PipeWorld, agent, pipeline, tool, wait

from bridge.engine import by_hand
from bridge.engine.view import view


@pytest.fixture
def world(tmp_path):
    return PipeWorld(tmp_path)


SPAWN = {
    "spawn": agent("a", background=True),
    "meanwhile": tool("set", "${{ steps.spawn.output.request_id }}"),
    "awaited": wait(node="spawn", deadline_s=60),
    "after": tool("set", "${{ steps.awaited.output.summary }}"),
}


def test_the_line_goes_on_while_an_agent_works_and_waits_where_it_says_so(world):
    run = world.begin(pipeline(**SPAWN))

    assert world.states(run) == {"spawn": "ok", "meanwhile": "ok", "awaited": "open"}
    (asked,) = (each for _, each in view(world.store, run).open_requests())
    assert world.output(run, "meanwhile") == asked == f"{run}-spawn-1-1"
    world.answer("a", "found")

    assert world.advance(run)["status"] == "completed"
    assert world.output(run, "after") == "found"


def test_what_fails_in_the_background_fails_where_it_is_waited_for(world):
    run = world.begin(pipeline(**SPAWN))
    world.answer("a", "host_gone")

    ended = world.advance(run)

    assert ended["status"] == "failed"
    assert ended["why"].startswith("awaited: host_gone")


def test_a_wait_ends_at_its_deadline_and_the_agent_with_the_run(world):
    run = world.begin(pipeline(**SPAWN))
    world.clock.go_on(59)
    assert world.advance(run)["status"] == "running"

    world.clock.go_on(2)

    ended = world.advance(run)
    assert ended["why"] == "awaited: it had not ended after 60 s"
    assert not world.waiting()


def test_a_clock_that_is_set_ends_no_wait(world):
    run = world.begin(pipeline(pause=wait(seconds=60), after=tool("set")))
    world.clock.set_wall(3600)
    assert world.advance(run)["status"] == "running"
    # What it knows of its times is written with its next step.
    world.advance(run, by_hand.pause)
    world.advance(run, by_hand.resume)

    world.clock.go_on(61)

    assert world.advance(run)["status"] == "completed"


def test_a_moment_comes_when_the_clock_says_so(world):
    """It went along with a clock that was set."""
    pause = wait(until=1_800_003_600, deadline_s=7200)
    run = world.begin(pipeline(pause=pause, after=tool("set")))
    world.clock.set_wall(3000)
    # What it knows of its times is written with its next step.
    world.advance(run, by_hand.pause)
    assert world.advance(run, by_hand.resume)["status"] == "running"

    world.clock.go_on(601)

    assert world.advance(run)["status"] == "completed"


def test_what_was_too_long_is_said_by_a_clock_that_nobody_sets(world):
    run = world.begin(pipeline(pause=wait(until=1_900_000_000, deadline_s=60)))
    world.clock.set_wall(3000)
    world.clock.go_on(61)

    assert world.advance(run)["why"] == "pause: it had not ended after 60 s"


@pytest.mark.parametrize(
    ("until", "s"),
    [({"seconds": "${{ inputs.s }}"}, 30), ({"until": 1_800_000_030}, 0)],
)
def test_a_wait_for_a_time_ends_then(world, until, s):
    run = world.begin(
        pipeline(pause=wait(**until), _inputs={"s": {"type": "number"}}),
        params={"s": s},
    )
    world.clock.go_on(29)
    assert world.advance(run)["status"] == "running"

    world.clock.go_on(2)

    assert world.advance(run)["status"] == "completed"


@pytest.mark.parametrize("seconds", ["soon", -1, True, None, "nan", 1e12])
def test_a_time_that_is_none_stops_the_run(world, seconds):
    run = world.begin(
        pipeline(pause=wait(seconds="${{ inputs.s }}"), _inputs={"s": {}}),
        params={"s": seconds},
    )
    ended = world.run(run)
    assert ended["status"] == "failed"
    assert "a time must be a number of seconds up to a year" in ended["why"]


def test_a_moment_that_is_none_stops_the_run(world):
    ended = world.run(world.begin(pipeline(pause=wait(until="tomorrow"))))
    assert "`until` must be seconds since 1970 or ISO 8601" in ended["why"]


def test_a_wait_for_what_was_left_out_is_left_out(world):
    steps = {**SPAWN, "spawn": agent("a", background=True, **{"if": "false"})}

    run = world.run(world.begin(pipeline(**steps)))

    assert run["status"] == "completed"
    assert {run["nodes"][each]["state"] for each in ("spawn", "awaited")} == {"passed"}
    assert not world.waiting()


def test_a_wait_for_several_has_all_their_answers(world):
    run = world.begin(
        pipeline(
            one=agent("a", background=True),
            two=agent("b", background=True),
            both=wait(nodes=["one", "two"]),
            after=tool("set", "${{ steps.both.output }}"),
        )
    )
    world.answer("b", "second")
    assert world.advance(run)["status"] == "running"
    world.answer("a", "first")
    world.advance(run)

    found = world.output(run, "after")
    assert {name.rsplit("-")[0]: each["summary"] for name, each in found.items()} == {
        "one": "first", "two": "second",
    }  # fmt: skip


def test_an_agent_that_is_not_found_does_not_run(world):
    run = world.begin(pipeline(spawn=agent("nobody-$x", background=True)))

    ended = world.run(run)
    assert ended["status"] == "failed"
    assert not world.waiting()
