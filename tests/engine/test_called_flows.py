"""Called flows: runs of their own that go on, stop and pay with whoever called them."""

from functools import partial

import pytest
from engine.flowworld import child_of, lives
from flow.simulation import plan_of

from bridge.engine import by_hand
from bridge.engine.view import asked_of, view
from bridge.errors import InvalidRequest
from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow
from bridge.protocol.response import failed
from bridge.store import live_runs
from bridge.store.charges import note_in_run
from bridge.store.live_runs import LOCK
from bridge.store.lock import LockBusy, lock_in


def calling(inner):
    """A plan that calls the flow `inner`."""

    def find(name):
        return parse_flow(inner if name == "inner" else "")

    caller = parse_flow('@call:inner(what="it"):made -> b:"Use {made}"')
    return compile_flow(caller, find)


def test_a_called_flow_is_a_run_of_its_own(world):
    run = world.begin(calling('a:"Make {{what}}"'))
    asked = world.waiting()["a"]
    assert asked.prompt == "Make it"
    child = asked.request_id.partition("-")[0]
    assert sorted(lives(world)) == sorted([run, child])

    world.answered(child, "a", "made it")

    assert world.waiting()["b"].prompt == "Use made it"
    assert lives(world) == [run]


def test_who_looks_at_a_run_marks_it_again(world):
    run = world.begin(calling('a:"Make {{what}}"'))
    marks = lives(world)
    for mark in (world.store.place.state / "live").iterdir():
        mark.unlink()

    world.advance(run)

    assert lives(world) == marks


def test_flows_call_each_other_five_deep_at_most(world):
    """What the compiler refuses may still lie in a plan."""
    plan = plan_of('a:"1"')
    for depth in range(7):
        call = compile_flow(parse_flow(f"@call:f{depth}"))
        plan = {**call, "flows": {**plan["flows"], f"f{depth}": plan}}

    run = world.begin(plan)

    assert world.waiting() == {}
    assert world.advance(run)["why"] == (
        "node-0: the flow that it called failed: " * 5
        + "node-0: flows call each other more than 5 deep"
    )


TWO = 'a:"Make {{what}}" -> c:"Mend it"'


def in_the_middle(world, **options):
    """A run whose called flow has asked its second agent."""
    run = world.begin(calling(TWO), **options)
    world.answered(child_of(world), "a")
    assert [*world.waiting()] == ["c"]
    return run


def asked(world):
    return [each.request_id.partition("-")[2] for each in world.waiting().values()]


def finish(world, run):
    """Answer all there is, and see that the called flow was not begun anew."""
    for agent in ("c", "b"):
        assert [*world.waiting()] == [agent]
        world.answer(agent)
        for each in lives(world):
            world.advance(each)
    assert world.advance(run)["status"] == "completed"
    assert lives(world) == []
    folders = [each.name for each in (world.store.place.state / "runs").iterdir()]
    assert len(folders) == 2


def test_a_failed_called_flow_goes_on_where_it_failed(world):
    run = in_the_middle(world)
    child = child_of(world)
    world.answered(child, "c", "host_gone")
    why = "node-0: the flow that it called failed: node-1: host_gone: as the test wants"
    assert world.advance(run)["why"] == why
    assert lives(world) == []

    world.advance(run, by_hand.resume)

    assert sorted(lives(world)) == sorted([run, child])
    assert asked(world) == ["node-1-1-2"]
    finish(world, run)


def test_a_cancelled_called_flow_goes_on_with_its_caller(world):
    run = in_the_middle(world)
    world.advance(run, by_hand.cancel)
    assert (world.waiting(), lives(world)) == ({}, [])

    world.advance(run, by_hand.resume)

    assert asked(world) == ["node-1-1-2"]
    finish(world, run)


def test_a_paused_run_pauses_what_it_called(world):
    run = world.begin(calling(TWO))
    world.advance(run, by_hand.pause)
    world.answered(child_of(world), "a")
    assert world.waiting() == {}

    world.advance(run, by_hand.resume)

    finish(world, run)


@pytest.mark.parametrize("deep", [False, True])
def test_a_called_flow_that_stops_to_ask_pauses_its_caller(world, deep):
    plan = calling(TWO)
    if deep:
        flows = {**plan["flows"], "middle": plan}
        plan = {**compile_flow(parse_flow("@call:middle")), "flows": flows}
    run = world.begin(plan, policy="ask")
    world.answer("a", "host_gone")
    world.advance(next(each for each in lives(world) if asks_first(world, each)))
    paused = world.advance(run)
    assert paused["status"] == "paused"
    assert paused["why"].endswith("node-0: host_gone: as the test wants")

    world.advance(run, by_hand.resume)

    assert asked(world) == ["node-0-1-2"]
    assert world.advance(run)["status"] == "running"


def asks_first(world, run):
    return world.advance(run)["status"] == "paused" and run.startswith("f")


def test_only_who_called_it_is_resumed(world):
    run = in_the_middle(world)
    child = child_of(world)
    world.advance(child, by_hand.pause)
    assert world.advance(run)["why"] == "node-0: by its user"

    with pytest.raises(InvalidRequest, match=f"{child} goes on with {run}: resume"):
        world.advance(child, by_hand.resume)

    world.advance(run, by_hand.resume)
    finish(world, run)


def test_the_policy_of_a_resumed_run_is_that_of_what_it_called(world):
    run = in_the_middle(world)
    child = child_of(world)
    world.advance(run, by_hand.pause)

    world.advance(run, partial(by_hand.resume, policy="skip"))
    assert world.answered(child, "c", "host_gone")["status"] == "completed"


def test_a_jump_to_a_call_begins_it_anew(world):
    run = in_the_middle(world)

    world.advance(run, partial(by_hand.jump, node="node-0"))

    assert asked(world) == ["node-0-1-1"]
    assert [*world.waiting()] == ["a"]


def test_a_jump_inside_a_failed_called_run_goes_on_from_there(world):
    run = in_the_middle(world)
    child = child_of(world)
    world.answered(child, "c", "host_gone")

    world.advance(child, partial(by_hand.jump, node="node-0"))
    assert world.waiting() == {}
    world.advance(run, by_hand.resume)

    assert asked(world) == ["node-0-2-1"]


def test_nothing_is_done_with_a_called_run_whose_caller_has_completed(world):
    caller = parse_flow('@call:inner (if failed)~> b:"Go on"')
    plan = compile_flow(caller, lambda _: parse_flow("a"))
    run = world.begin(plan)
    child = child_of(world)
    world.answered(child, "a", "host_gone")
    assert world.answered(run, "b")["status"] == "completed"

    with pytest.raises(InvalidRequest, match="has completed without it"):
        world.advance(child, partial(by_hand.jump, node="node-0"))


def test_a_called_run_shares_the_agents_of_its_caller(world):
    run = world.begin(calling(TWO), agents=1)
    world.answered(child_of(world), "a")
    paused = world.advance(run)
    why = "as many agents were asked as it may ask (--max-agents): "
    assert paused["why"] == f"node-0: {why}1"

    world.advance(run, partial(by_hand.resume, agents=2))
    world.answered(child_of(world), "c")
    assert (world.waiting(), world.advance(run)["why"]) == ({}, f"{why}2")

    world.advance(run, partial(by_hand.resume, agents=3))
    assert [*world.waiting()] == ["b"]
    assert asked_of(view(world.store, run).run) == 3


def test_a_called_run_shares_the_tokens_of_its_caller(world):
    run = world.begin(calling(TWO), tokens=100)
    child = child_of(world)
    for call, tokens in (("one", 60), ("one", 40), ("two", 40)):
        note_in_run(world.store, f"{child}-node-0-1-1", call, tokens)
    note_in_run(world.store, f"{child}-node-0-1-1", "three", None)
    note_in_run(world.store, "other-node-0-1-1", "four", 1000)
    world.answered(child, "a")
    expected = "node-0: as many tokens were used as it may use (--max-tokens): 100"
    assert (world.advance(run)["why"], world.waiting()) == (expected, {})

    world.advance(run, partial(by_hand.resume, tokens=101))

    finish(world, run)


def test_the_time_of_a_resumed_run_is_that_of_what_it_called(world):
    run = world.begin(calling(TWO), until=world.store.now_ms() + 60_000)
    request = world.waiting()["a"]
    gone = failed(request, "host_gone", "gone", now_ms=request.created_at)
    world.store.publish(gone, source="test")
    world.advance(child_of(world))
    later = world.store.now_ms() + 3_600_000

    world.advance(run, partial(by_hand.resume, until=later))

    assert world.waiting()["a"].timeout > 60_000


def test_what_was_begun_and_never_written_is_removed_under_its_lock(world, monkeypatch):
    """Its caller may begin it again at the same moment."""
    world.begin(calling(TWO))
    child = child_of(world)
    (world.store.place.state / "runs" / child / "run.json").unlink()
    removed = []

    def remove(state, run):
        with state["runs"].folder(run) as folder, pytest.raises(LockBusy):
            lock_in(folder, LOCK, wait_s=0)
        removed.append(run)

    monkeypatch.setattr(live_runs, "remove", remove)
    with pytest.raises(InvalidRequest, match="there is no run"):
        world.advance(child)

    assert removed == [child]


def test_the_run_of_a_caller_that_is_gone_lives_no_more(world):
    run = in_the_middle(world)
    child = child_of(world)
    for file in (world.store.place.state / "runs" / run).iterdir():
        file.unlink()

    with pytest.raises(InvalidRequest, match="there is no run"):
        world.advance(child)

    assert child not in lives(world)
