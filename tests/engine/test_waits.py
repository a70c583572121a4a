"""Waits: for agents in the background, for a time; their deadlines hold."""

import pytest
from engine.flowworld import child_of
from engine.pipeworld import agent, pipeline, tool, wait

from bridge.engine import by_hand
from bridge.engine.view import view

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
    assert world.answered(run, "a", "found")["status"] == "completed"
    assert world.output(run, "after") == "found"


def test_what_fails_in_the_background_ends_the_run_once_it_is_waited_for(world):
    run = world.begin(pipeline(**SPAWN))
    ended = world.answered(run, "a", "host_gone")

    assert ended["status"] == "failed"
    assert ended["why"].startswith("spawn: host_gone")


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
    plan = pipeline(pause=wait(**until), _inputs={"s": {"type": "number"}})
    run = world.begin(plan, params={"s": s})
    world.clock.go_on(29)
    assert world.advance(run)["status"] == "running"

    world.clock.go_on(2)

    assert world.advance(run)["status"] == "completed"


NO_TIME = "a time must be a number of seconds up to a year"
NO_MOMENT = "`until` must be seconds since 1970 or ISO 8601"
NONE = [(each, NO_TIME) for each in ("soon", -1, True, None, "nan", 1e12)]


@pytest.mark.parametrize(("given", "why"), [*NONE, ("tomorrow", NO_MOMENT)])
def test_a_time_that_is_none_stops_the_run(world, given, why):
    kind = "until" if why == NO_MOMENT else "seconds"
    plan = pipeline(pause=wait(**{kind: "${{ inputs.s }}"}), _inputs={"s": {}})

    ended = world.run(world.begin(plan, params={"s": given}))

    assert ended["status"] == "failed"
    assert why in ended["why"]


def test_a_wait_for_what_was_left_out_is_left_out(world):
    steps = {**SPAWN, "spawn": agent("a", background=True, **{"if": "false"})}

    run = world.run(world.begin(pipeline(**steps)))

    assert run["status"] == "completed"
    assert {run["nodes"][each]["state"] for each in ("spawn", "awaited")} == {"passed"}
    assert not world.waiting()


def test_a_wait_for_several_has_all_their_answers(world):
    plan = pipeline(
        one=agent("a", background=True),
        two=agent("b", background=True),
        both=wait(nodes=["one", "two"]),
        after=tool("set", "${{ steps.both.output }}"),
    )
    run = world.begin(plan)
    assert world.answered(run, "b", "second")["status"] == "running"
    world.answered(run, "a", "first")

    found = world.output(run, "after").items()
    said = {name.rsplit("-")[0]: each["summary"] for name, each in found}
    assert said == {"one": "first", "two": "second"}


def test_an_agent_that_is_not_found_does_not_run(world):
    run = world.begin(pipeline(spawn=agent("nobody-$x", background=True)))

    ended = world.run(run)
    assert ended["status"] == "failed"
    assert not world.waiting()


# A failure is booked where it happened


HOW = {"no answer": {"said": "host_gone"}, "it says so": {"status": "failed"}}


def asked(world):
    """What waits to be taken by an agent."""
    return sorted(each.request_id for each in world.waiting().values())


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_a_run_that_is_resumed_asks_the_agent_again_that_failed(world, how):
    """Once more, and nothing that had succeeded."""
    run = world.begin(pipeline(first=agent("b"), **SPAWN))
    world.answered(run, "b", "before")
    failed = world.answered(run, "a", **how)

    world.advance(run, by_hand.resume)
    again = asked(world)
    world.answer("a", "found")

    states = [failed["nodes"][name]["state"] for name in ("spawn", "awaited")]
    assert failed["why"].startswith("spawn: ")
    assert states == ["stopped", "cancelled"]
    assert again == [f"{run}-spawn-1-2"]
    assert world.advance(run)["status"] == "completed"
    assert world.output(run, "after") == "found"


def test_of_several_only_those_are_asked_again_that_failed(world):
    names = {"one": "a", "two": "b", "three": "c"}
    steps = {step: agent(name, background=True) for step, name in names.items()}
    run = world.begin(pipeline(**steps, all=wait(nodes=[*names])))
    world.answer("a", "found")
    world.answer("b", "host_gone")
    failed = world.answered(run, "c", status="blocked")

    world.advance(run, by_hand.resume)

    assert failed["nodes"]["one"]["state"] == "ok"
    assert {failed["nodes"][n]["state"] for n in ("two", "three")} == {"stopped"}
    assert asked(world) == [f"{run}-three-1-2", f"{run}-two-1-2"]


STOPS = {
    "the wait was too long": lambda world, _: world.clock.go_on(61),
    "somebody has cancelled it": lambda world, run: world.advance(run, by_hand.cancel),
}


@pytest.mark.parametrize("stop", STOPS)
def test_an_agent_that_ended_with_the_run_is_asked_again(world, stop):
    run = world.begin(pipeline(**SPAWN))
    STOPS[stop](world, run)
    world.advance(run)
    assert asked(world) == []

    world.advance(run, by_hand.resume)

    assert asked(world) == [f"{run}-spawn-1-2"]
    assert world.answered(run, "a", "found")["status"] == "completed"


def test_an_agent_that_goes_on_while_the_run_is_paused_is_not_asked_again(world):
    run = world.begin(pipeline(**SPAWN))
    world.advance(run, by_hand.pause)

    world.advance(run, by_hand.resume)

    assert asked(world) == [f"{run}-spawn-1-1"]


def test_what_had_its_answer_before_another_failed_is_not_asked_again(world):
    steps = {**SPAWN, "meanwhile": agent("b")}
    run = world.begin(pipeline(**steps, last=tool("set")))
    world.answer("a", "found")
    assert world.answered(run, "b", "host_gone")["why"].startswith("meanwhile: ")

    world.advance(run, by_hand.resume)

    assert asked(world) == [f"{run}-meanwhile-1-2"]


def test_an_agent_in_the_background_is_tried_as_often_as_its_step_says(world):
    """By whoever waits for it; the wait itself goes on."""
    steps = {**SPAWN, "spawn": agent("a", background=True, retry=1)}
    run = world.begin(pipeline(**steps))
    assert world.answered(run, "a", "host_gone")["status"] == "running"
    assert asked(world) == [f"{run}-spawn-1-2"]
    assert world.answered(run, "a", "found")["status"] == "completed"


@pytest.mark.parametrize("whose", ["spawn", "awaited"])
def test_a_failure_that_the_run_goes_on_from_stays_one(world, whose):
    """It is not asked again when something else fails."""
    steps = {**SPAWN, "after": agent("b")}
    steps[whose] = {**steps[whose], "on_failure": "skip"}
    run = world.begin(pipeline(**steps))
    world.answered(run, "a", "host_gone")
    assert world.states(run)["awaited"] == "error"
    world.answered(run, "b", "host_gone")

    world.advance(run, by_hand.resume)

    assert asked(world) == [f"{run}-after-1-2"]


def test_an_agent_of_a_called_pipeline_is_asked_again(world):
    inner = pipeline("inner", **SPAWN)
    call = {"kind": "call", "detail": {"flow": "inner", "given": ["map", 0]}}
    run = world.begin(pipeline(inner=call, _flows={"inner": inner}))
    world.answer("a", "host_gone")
    called = child_of(world)
    world.advance(called)
    assert "spawn: host_gone" in world.run(run)["why"]

    world.advance(run, by_hand.resume)
    world.answered(called, "a", "found")

    assert world.run(run)["status"] == "completed"


def test_a_jump_back_ends_what_works_in_the_background(world):
    """It is asked again there; nobody would wait for the first."""
    steps = {**SPAWN, "meanwhile": agent("b")}
    run = world.begin(pipeline(**steps))

    world.advance(run, lambda made: by_hand.jump(made, "spawn"))

    assert f"{run}-spawn-1-1" not in asked(world)
    assert f"{run}-spawn-2-1" in asked(world)
