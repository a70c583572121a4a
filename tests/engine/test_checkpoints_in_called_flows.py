"""Checkpoints in called flows: answered, refused, and cut short by a kill."""

from functools import partialmethod

import pytest
from engine.flowworld import child_of, lives

from bridge.engine.run_tree import RunTree
from bridge.engine.view import view
from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow


def deep(world):
    """A run that calls a flow that asks a person and then calls another."""
    sources = {"inner": '@ok:"Fine?" -> @call:last:x -> @more:"{x}?"', "last": 'a:"1"'}
    plan = compile_flow(
        parse_flow('[@call:inner:made || b:"2"] -> c:"Use {made}"'),
        lambda name: parse_flow(sources[name]),
    )
    run = world.begin(plan)
    child = child_of(world)
    world.answer("b")
    # Now nothing is due in the caller.
    world.advance(run)
    return run, child


def test_a_called_flow_goes_on_though_it_has_asked_no_agent(world, monkeypatch):
    """Who answered its checkpoint was killed before its call."""
    run, child = deep(world)
    with monkeypatch.context() as patch:
        patch.setattr(RunTree, "run", partialmethod(killed, RunTree.run, child))
        with pytest.raises(KeyboardInterrupt):
            world.told(child, "yes")
    assert world.waiting() == {}

    world.advance(run)

    assert [*world.waiting()] == ["a"]


def killed(tree, run, known, name):
    if name.startswith("f") and name != known:
        raise KeyboardInterrupt
    return run(tree, name)


def test_prune_keeps_what_called_flows_of_a_living_run_have_answered(world):
    run, child = deep(world)
    world.told(child, "yes")
    world.answered(run, "a", "one")
    assert len(lives(world)) == 2

    world.store.prune(older_than_days=0)

    assert [each[1] for each in view(world.store, run).checkpoints()] == ["node-2"]
    world.told(child, "yes")
    world.advance(run)
    world.store.prune(older_than_days=0)
    world.advance(run)
    assert world.waiting()["c"].prompt == "Use yes"


def test_what_a_person_has_refused_is_not_gone_past(world):
    """Neither by the policy, nor by that of a caller."""
    source = '@call:inner(what="it"):made -> b:"Use {made}"'
    for flow in ('@ok:"Delete all?" -> a:"Delete"', source):
        plan = compile_flow(
            parse_flow(flow), lambda _: parse_flow('@ok:"Sure of {{what}}?"')
        )
        run = world.begin(plan, policy="skip")
        ((waits, *_),) = view(world.store, run).checkpoints()
        world.told(waits, "no")

        assert world.advance(run)["why"].endswith("a person said no")
        assert world.waiting() == {}
