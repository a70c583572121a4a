"""One ask renders, loads and checks each thing once, on every route."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from runworld import ScriptedModel, call
from servingworld import Scripted, bridge_in, open_session

from bridge.agents import load, prompt
from bridge.host.agent_rules import AgentRules
from bridge.protocol import json_schema
from bridge.protocol.outcome import Outcome
from bridge.store import host_process, store
from bridge.worker import executors
from bridge.worker.model_executor import ModelExecutor, OpenModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.api.bridge import Bridge

SCHEMA = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
}


@pytest.fixture
def bridge(tmp_path: Path) -> Bridge:
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
def done(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counts: Counter[str] = Counter()
    json_schema._problem_of_json.cache_clear()
    for module, name in (
        (prompt, "render"),
        (load, "load"),
        (json_schema, "_problem_of_schema"),
        (store, "open_state"),
    ):
        count(monkeypatch, module, name, counts)
    return counts


def count(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, counts: Counter[str]
) -> None:
    original = getattr(module, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        counts[name] += 1
        return original(*args, **kwargs)

    monkeypatch.setattr(module, name, counted)


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
    def opened(*_: object) -> Iterator[OpenModel]:
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

    def counted(pid: int) -> dict[str, str]:
        read[pid] += 1
        return of(pid)

    monkeypatch.setattr(host_process, "environment_of", counted)

    bridge.submit("Which?")

    assert read[os.getppid()] == 1
    assert set(read.values()) == {1}


def test_an_open_session(bridge, done, monkeypatch):
    open_session(bridge.store)
    wait = store.Store.wait

    def answered(asked: store.Store, ids: Any, **how: Any) -> Any:
        for request_id in ids:
            bridge.respond(request_id, '{"count": 4}')
        return wait(asked, ids, **how)

    monkeypatch.setattr(store.Store, "wait", answered)

    result = bridge.ask("legs", "counter", schema=SCHEMA)

    assert result.route == "manual"
    assert {name: done[name] for name in ONCE} == ONCE
