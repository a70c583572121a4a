"""What a person does with a run: answer, pause, go on, cancel, jump."""

from __future__ import annotations

from functools import partial

import pytest
from engine.flowworld import World
from flow.simulation import plan_of
from servingworld import bridge_in
from storeworld import FakeClock, store_in

from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.engine.view import view
from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId
from bridge.store.live_runs import live_runs
from bridge.store.switch import switch_off, switch_on


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def said(text):
    return partial(by_hand.say, node=None, text=text, by="a test")


def test_a_checkpoint_waits_for_a_person(world):
    run = world.begin('@check:"Fine?":word -> a:"They said: {word}"')
    assert world.advance(run)["open"] == ["node-0"]
    assert world.waiting() == {}

    world.advance(run, said("Yes, go on"))

    assert world.waiting()["a"].prompt == "They said: Yes, go on"


def test_the_first_answer_to_a_checkpoint_counts(world):
    run = world.begin('@check:"Fine?" -> a:"1"')
    world.advance(run, said("yes"))

    with pytest.raises(InvalidRequest, match=r"was answered before, .*: yes"):
        world.advance(run, said("no"))

    assert [*world.waiting()] == ["a"]


def test_a_refusal_ends_the_run_unless_a_condition_looks_at_it(world):
    run = world.begin('@check:"Fine?" -> a:"1"')
    ended = world.advance(run, said("no"))
    assert ended["why"] == "node-0: a person said no"

    run = world.begin('@check:"Fine?" -> (if failed)~> b:"2"')
    world.advance(run, said("no"))
    assert [*world.waiting()] == ["b"]


def test_a_paused_run_asks_nobody_until_it_goes_on(world):
    run = world.begin('a:"1" -> b:"2"')
    world.advance(run, by_hand.pause)

    world.answer("a")
    assert world.advance(run)["status"] == "paused"
    assert world.waiting() == {}

    world.advance(run, by_hand.resume)
    assert [*world.waiting()] == ["b"]


def test_a_cancelled_run_cancels_what_it_asked_and_can_go_on(world):
    run = world.begin('[a:"1" || b:"2"] -> c:"3"')
    world.answer("a", "done")
    world.advance(run)

    assert world.advance(run, by_hand.cancel)["status"] == "cancelled"
    assert world.waiting() == {}
    with pytest.raises(InvalidRequest, match=r"is cancelled \(by its user\)"):
        world.advance(run, by_hand.cancel)

    world.advance(run, by_hand.resume)
    assert [each.request_id for each in world.waiting().values()] == [
        f"{run}-node-1-1-2"
    ]


def test_a_failed_run_goes_on_with_what_failed(world):
    run = world.begin('a:"1":x -> b:"2 {x}"')
    world.answer("a", "kept")
    world.advance(run)
    world.answer("b", "host_gone")
    assert world.advance(run)["status"] == "failed"

    world.advance(run, by_hand.resume)

    assert world.waiting()["b"].prompt == "2 kept"
    with world.store.state() as state:
        assert live_runs(state) == [run]


def test_a_used_up_loop_may_be_gone_through_as_often_again(world):
    run = world.begin('@top -> a:"1" (if issues)~> @top(1)')
    for _ in range(2):
        world.answer("a", issues=["one"])
        world.advance(run)

    assert world.advance(run, by_hand.resume)["status"] == "running"

    assert [*world.waiting()] == ["a"]


def test_a_jump_goes_on_elsewhere(world):
    run = world.begin('a:"1":x -> b:"2" -> c:"3"')
    world.answer("a", "one")
    world.advance(run)

    world.advance(run, lambda made: by_hand.jump(made, "node-2"))
    assert [*world.waiting()] == ["c"]
    world.answer("c")
    assert world.advance(run)["status"] == "completed"

    world.advance(run, lambda made: by_hand.jump(made, "node-0"))
    assert world.waiting()["a"].request_id == f"{run}-node-0-2-1"


def test_a_policy_may_ask_or_go_on_without(world):
    run = world.begin('[a:"1" || b:"2"] -> c:"3"', policy="ask")
    world.answer("a", "host_gone")
    paused = world.advance(run)
    assert (paused["status"], [*world.waiting()]) == ("paused", ["b"])
    world.advance(run, by_hand.resume)
    assert [*world.waiting()] == ["a", "b"]

    other = world.begin('d:"1" -> e:"3"', policy="skip")
    world.answer("d", "host_gone")
    world.advance(other)
    assert "e" in world.waiting()


def test_a_run_may_go_on_with_another_policy(world):
    run = world.begin('a:"1" -> b:"2"', policy="ask")
    world.answer("a", "host_gone")
    assert world.advance(run)["status"] == "paused"

    world.advance(run, partial(by_hand.resume, policy="skip"))
    world.answer("a", "host_gone")
    world.advance(run)

    assert [*world.waiting()] == ["b"]


def test_the_agents_of_a_run_are_bounded(world):
    run = world.begin('a:"1" -> b:"2"', agents=1)
    world.answer("a")

    paused = world.advance(run)
    assert paused["status"] == "paused"
    assert paused["why"] == "as many agents were asked as it may ask (--max-agents): 1"

    world.advance(run, partial(by_hand.resume, agents=2))
    assert [*world.waiting()] == ["b"]


def test_the_time_of_a_run_is_bounded(world):
    run = world.begin('a:"1" -> b:"2"', until=world.store.now_ms() + 60_000)
    assert world.waiting()["a"].timeout <= 60_000

    late = world.begin('b:"1"', until=world.store.now_ms())
    assert world.advance(late)["why"] == "its time is over (--timeout)"
    assert world.advance(run)["status"] == "running"


@pytest.mark.parametrize("set_s", [86_400, -86_400], ids=["forward", "back"])
def test_a_clock_that_is_set_leaves_a_run_its_time(tmp_path, set_s):
    clock = FakeClock()
    world = World(tmp_path, store_in(tmp_path, clock=clock))
    run = world.begin('a:"1" -> b:"2"', until=world.store.now_ms() + 100_000)

    clock.go_on(2)
    clock.set_wall(set_s)
    world.answer("a")
    assert world.advance(run)["status"] == "running"
    assert world.waiting()["b"].timeout == 98_000

    clock.go_on(99)
    assert world.advance(run)["why"] == "its time is over (--timeout)"


def test_nothing_is_asked_while_hostbridge_is_off(world):
    switch_off(world.store)
    run = world.begin('a:"1" -> b:"2"')
    assert world.waiting() == {}

    switch_on(world.store)
    world.advance(run)
    assert [*world.waiting()] == ["a"]

    switch_off(world.store)
    world.answer("a")
    world.advance(run)
    world.advance(run)
    assert world.waiting() == {}

    switch_on(world.store)
    world.advance(run)
    assert [*world.waiting()] == ["b"]


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
