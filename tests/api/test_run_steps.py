"""The steps of a run: which way each condition went and why, each time it was asked."""

from functools import partial

import pytest
from engine.flowworld import World

from bridge.api.run_steps import Try, steps_of
from bridge.engine import by_hand
from bridge.engine.view import view
from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def steps(world, run, **how):
    seen = steps_of(world.store, world.settings, view(world.store, run), **how)
    return {step.node: step for step in seen}


def told(world, run):
    return {node: (step.says, step.why) for node, step in steps(world, run).items()}


def answer(world, run, agent, said="", **fields):
    world.answer(agent, said, **fields)
    world.advance(run)


def test_a_condition_says_what_it_saw(world):
    run = world.begin(
        'a:"x":found -> b:"y" (if {found.count} > 3 && failed)~> c:"z" -> '
        'd:"z" (if {found} contains "no" || passed)~> e:"{found}"'
    )
    answer(world, run, "a", "nothing")
    answer(world, run, "b", status="failed", issues=["one"])

    assert told(world, run) == {
        "node-0": ("ok", ""),
        "node-1": ("failed", "agent_failed: done"),
        "node-2": ("no", "{found.count} is nothing, node-1 failed"),
        "node-3": ("skipped", "node-2 says no"),
        "node-4": ("skipped", ""),
        "node-5": ("yes", '{found} is "nothing", node-1 failed'),
        "node-6": ("no open session", ""),
    }


def test_one_sees_what_a_step_waits_for(world):
    run = world.begin('[a:"x" || b:"y" || c:"y"] -> d:"z" -> (if passed)~> e:"e"')
    answer(world, run, "a")

    says = {node: says for node, (says, _) in told(world, run).items()}
    assert says["node-0"] == "ok"
    assert says["node-3"] == "after node-1 +1"
    assert says["node-4"] == says["node-5"] == "after node-3"


def test_each_round_is_listed(world):
    run = world.begin('@again -> a:"x" (if any issues)~> @again(2)')
    answer(world, run, "a", "one", issues=["x"])
    assert steps(world, run)["node-1"].says == "no open session (round 2)"
    answer(world, run, "a", "two", status="success", issues=[])

    found = steps(world, run)
    assert found["node-1"].tries == [
        Try(1, 1, "ok", found["node-1"].tries[0].took_s, f"{run}-node-1-1-1"),
        Try(2, 1, "ok", found["node-1"].tries[1].took_s, f"{run}-node-1-2-1"),
    ]
    assert found["node-2"].why == "node-1: 0 issues"
    assert found["node-3"].says == "1 of 2"
    assert steps(world, run, whole=False)["node-1"].tries == []


def test_one_sees_what_a_person_said(world):
    run = world.begin('@ok:"Fine?"')
    act = partial(by_hand.say, node=None, text="yes,\nbut slowly", by="reply")
    world.advance(run, act)

    assert told(world, run) == {
        "node-0": ("ok", "yes, but slowly (by `hostbridge reply`)")
    }


def test_steps_of_a_called_flow_are_below_it(world):
    flow = parse_flow('@call:other -> a:"x"')
    run = world.begin(compile_flow(flow, lambda _: parse_flow('b:"inner"')))

    assert [*steps(world, run)] == ["node-0", "node-0/node-0", "node-1"]
