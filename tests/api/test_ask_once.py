"""One ask renders, loads and checks each thing once, on every route."""

import os
from collections import Counter
from contextlib import contextmanager
from functools import partial

import pytest
from runworld import ScriptedModel, call
from servingworld import Scripted, bridge_in, open_session

from bridge.agents import load, prompt
from bridge.bound.agent_rules import AgentRules
from bridge.protocol import json_schema
from bridge.protocol.outcome import Outcome
from bridge.store import host_process, state, store
from bridge.worker import executors
from bridge.worker.model_executor import ModelExecutor, OpenModel

SCHEMA = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
}


@pytest.fixture
def bridge(tmp_path):
    agents = tmp_path / "home" / "agents"
    agents.mkdir(parents=True)
    (agents / "counter.yaml").write_text(
        "name: counter\ndescription: counts\nprompt: 'Count: {{ task }}'\n"
    )
    made = bridge_in(tmp_path)
    # The first ask in a project makes the state directory.
    made.submit("Which?")
    return made


@pytest.fixture
def done(monkeypatch):
    """How often each of these was called."""
    counts = Counter()
    json_schema._problem_of_json.cache_clear()

    def count(module, name):
        original = getattr(module, name)

        def counted(*args, **kwargs):
            counts[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, counted)

    count(prompt, "render")
    count(load, "load")
    count(json_schema, "_problem_of_schema")
    count(state, "open_state")
    return counts


ONCE = {"render": 1, "load": 1, "_problem_of_schema": 1}


@pytest.mark.parametrize("route", ["claude", "local", "endpoint"])
def test_a_route_that_this_process_serves(bridge, done, monkeypatch, route):
    """Opens the state to submit, claim, publish, end the heartbeat, and read."""
    executor = Scripted(lambda *_: Outcome('{"count": 4}'))
    monkeypatch.setitem(executors._EXECUTORS, route, lambda *_: executor)

    result = bridge.ask("legs", "counter", schema=SCHEMA, route=route)

    assert result.parsed == {"count": 4}
    assert result.response.run is None
    # One of them to look for the session above us.
    assert done == {**ONCE, "open_state": 6}


@pytest.mark.parametrize(("is_small", "renders"), [(False, 1), (True, 2)])
def test_the_agent_loop(bridge, done, monkeypatch, *, is_small, renders):
    """A small model needs the instructions without the task: a second rendering."""
    model = ScriptedModel([call("submit_result", count=4)], is_small=is_small)

    @contextmanager
    def opened(*_):
        yield OpenModel(model, degraded=False)

    bound = partial(AgentRules.of, bridge.settings, bridge.store)
    executor = ModelExecutor(bridge.store, opened, bound)
    monkeypatch.setitem(executors._EXECUTORS, "endpoint", lambda *_: executor)

    result = bridge.ask("legs", "counter", schema=SCHEMA, route="endpoint")

    assert result.parsed == {"count": 4}
    assert {name: done[name] for name in ONCE} == {**ONCE, "render": renders}
    said = "\n".join(message.content for message in model.asked[0])
    assert "Count: " in said
    assert "legs" in said


def test_the_processes_above_us(bridge, monkeypatch):
    read: Counter[int] = Counter()
    of = host_process.environment_of

    def counted(pid):
        read[pid] += 1
        return of(pid)

    monkeypatch.setattr(host_process, "environment_of", counted)

    bridge.submit("Which?")

    assert read[os.getppid()] == 1
    assert set(read.values()) == {1}


def test_an_open_session(bridge, done, monkeypatch):
    open_session(bridge.store)
    wait = store.Store.wait

    def answered(asked, ids, **how):
        for request_id in ids:
            bridge.respond(request_id, '{"count": 4}')
        return wait(asked, ids, **how)

    monkeypatch.setattr(store.Store, "wait", answered)

    result = bridge.ask("legs", "counter", schema=SCHEMA)

    assert result.route == "manual"
    assert {name: done[name] for name in ONCE} == ONCE
