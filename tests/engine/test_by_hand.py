"""What a person does with a run: answer, pause, go on, cancel, jump."""

import pytest
from flow.simulation import plan_of
from servingworld import bridge_in

from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.engine.view import view
from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId
from bridge.store.live_runs import live_runs
from bridge.store.switch import switch_off, switch_on


def test_a_checkpoint_waits_for_a_person(world):
    run = world.begin('@check:"Fine?":word -> a:"They said: {word}"')
    assert (world.advance(run)["open"], world.waiting()) == (["node-0"], {})

    world.told(run, "Yes, go on")

    assert world.waiting()["a"].prompt == "They said: Yes, go on"


def test_the_first_answer_to_a_checkpoint_counts(world):
    run = world.begin('@check:"Fine?" -> a:"1"')
    world.told(run, "yes")

    with pytest.raises(InvalidRequest, match=r"was answered before, .*: yes"):
        world.told(run, "no")

    assert [*world.waiting()] == ["a"]


def test_a_refusal_ends_the_run_unless_a_condition_looks_at_it(world):
    run = world.begin('@check:"Fine?" -> a:"1"')
    ended = world.told(run, "no")
    assert ended["why"] == "node-0: a person said no"

    run = world.begin('@check:"Fine?" -> (if failed)~> b:"2"')
    world.told(run, "no")
    assert [*world.waiting()] == ["b"]


def test_a_paused_run_asks_nobody_until_it_goes_on(world):
    run = world.begin('a:"1" -> b:"2"')
    world.advance(run, by_hand.pause)

    assert (world.answered(run, "a")["status"], world.waiting()) == ("paused", {})

    world.advance(run, by_hand.resume)
    assert [*world.waiting()] == ["b"]


def test_a_cancelled_run_cancels_what_it_asked_and_can_go_on(world):
    run = world.begin('[a:"1" || b:"2"] -> c:"3"')
    world.answered(run, "a", "done")

    assert world.advance(run, by_hand.cancel)["status"] == "cancelled"
    assert world.waiting() == {}
    with pytest.raises(InvalidRequest, match=r"is cancelled \(by its user\)"):
        world.advance(run, by_hand.cancel)

    world.advance(run, by_hand.resume)
    assert world.waiting()["b"].request_id == f"{run}-node-1-1-2"


def test_a_failed_run_goes_on_with_what_failed(world):
    run = world.begin('a:"1":x -> b:"2 {x}"')
    world.answered(run, "a", "kept")
    assert world.answered(run, "b", "host_gone")["status"] == "failed"

    world.advance(run, by_hand.resume)

    assert world.waiting()["b"].prompt == "2 kept"
    with world.store.state() as state:
        assert live_runs(state) == [run]


def test_a_jump_goes_on_elsewhere(world):
    run = world.begin('a:"1":x -> b:"2" -> c:"3"')
    world.answered(run, "a", "one")

    world.advance(run, lambda made: by_hand.jump(made, "node-2"))
    assert [*world.waiting()] == ["c"]
    assert world.answered(run, "c")["status"] == "completed"

    world.advance(run, lambda made: by_hand.jump(made, "node-0"))
    assert world.waiting()["a"].request_id == f"{run}-node-0-2-1"


def test_a_policy_may_ask_or_go_on_without(world):
    run = world.begin('[a:"1" || b:"2"] -> c:"3"', policy="ask")
    paused = world.answered(run, "a", "host_gone")
    assert (paused["status"], [*world.waiting()]) == ("paused", ["b"])
    world.advance(run, by_hand.resume)
    assert [*world.waiting()] == ["a", "b"]

    other = world.begin('d:"1" -> e:"3"', policy="skip")
    world.answered(other, "d", "host_gone")
    assert "e" in world.waiting()


@pytest.mark.parametrize("set_s", [86_400, -86_400], ids=["forward", "back"])
def test_a_clock_that_is_set_leaves_a_run_its_time(world, set_s):
    run = world.begin('a:"1" -> b:"2"', until=world.store.now_ms() + 100_000)

    world.clock.go_on(2)
    world.clock.set_wall(set_s)
    assert world.answered(run, "a")["status"] == "running"
    assert world.waiting()["b"].timeout == 98_000

    world.clock.go_on(99)
    assert world.advance(run)["why"] == "its time is over (--timeout)"


def test_nothing_is_asked_while_hostbridge_is_off(world):
    switch_off(world.store)
    run = world.begin('a:"1" -> b:"2"')
    for agent in "ab":
        assert world.waiting() == {}
        switch_on(world.store)
        world.advance(run)
        assert [*world.waiting()] == [agent]
        switch_off(world.store)
        world.answered(run, agent)


def test_an_answer_by_hand_leads_on(tmp_path):
    bridge = bridge_in(tmp_path)
    with bridge.store.state() as state:
        run = begin(state, plan_of('Explore:"1":x -> Plan:"2 {x}"'))
    advance(bridge.store, bridge.settings, run)

    bridge.respond(f"{run}-node-0-1-1", '{"status": "success", "summary": "by hand"}')

    asked = bridge.store.find(RequestId(f"{run}-node-1-1-1"))
    assert asked.request.prompt == "2 by hand"
    assert bridge.cancel(f"{run}-node-1-1-1")
    assert view(bridge.store, run).run["status"] == "failed"
