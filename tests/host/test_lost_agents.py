"""An agent of ours whose record is damaged may do nothing more, and ends by name.

With hooks as processes: tests/faults/test_lost_traces.py.
"""

import os
from typing import Any

import pytest
from hookworld import GOOD, HookWorld

from bridge.protocol.claim import HostProcess

WHY = (
    "hostbridge has no record of this agent's request any more, so nothing is granted "
    "to it; stop working."
)


def damage(world: HookWorld, agent: str) -> None:
    os.truncate(world.store.place.state / "agents" / f"{agent}.json", 40)


def lost(world: HookWorld) -> tuple[str, str]:
    """An agent whose record is damaged; request and agent."""
    request, agent = world.working(max_attempts=1)
    damage(world, agent)
    return request, agent


def records(world: HookWorld, agent: str) -> list[str]:
    folder = world.store.place.state / "agents"
    return sorted(file.name for file in folder.glob(f"{agent}.*"))


def refused(output: dict[str, Any]) -> tuple[Any, Any, bool]:
    """What was decided about a call, why, and whether the agent goes on."""
    specific = output["hookSpecificOutput"]
    decision = specific["permissionDecision"]
    return decision, specific["permissionDecisionReason"], output.get("continue", True)


@pytest.mark.parametrize("tool", ["Read", "Agent", "SubagentHandback"])
def test_its_next_call_is_denied_and_ends_it(world, tool):
    request, agent = lost(world)

    said = world.use(agent, tool, tool_input={"prompt": "inner", "message": GOOD})

    assert refused(said) == ("deny", WHY, False)
    error = world.response(request).error
    assert error.code == "agent_error"
    assert error.message == (
        "the agent, or the model behind it, failed: what was written down about "
        "its agent is lost or damaged"
    )
    assert records(world, agent) == []


def test_its_dialog_is_refused_and_its_record_stays(world):
    """The record, whatever it holds, makes the gate check the agent's next calls."""
    request, agent = lost(world)

    decision = world.permission(agent)

    assert decision == {"behavior": "deny", "message": WHY}
    assert world.code(request) == "agent_error"
    assert f"{agent}.json" in records(world, agent)


def test_its_last_words_are_not_taken(world):
    """Nobody knows any more what it was asked."""
    request, agent = lost(world)

    said = world.stop(agent, GOOD)

    assert said == {}
    assert world.code(request) == "agent_error"
    assert records(world, agent) == []


def test_a_request_that_has_ended_keeps_its_end(world):
    """A person may continue an agent after its answer."""
    request, agent = world.working()
    world.stop(agent)
    damage(world, agent)

    said = world.use(agent)

    assert refused(said) == ("deny", WHY, False)
    assert world.code(request) == "success"


@pytest.mark.parametrize("whose", ["another session's", "another call's"])
def test_a_request_that_somebody_else_has_now_goes_on(world, whose):
    request, agent = world.working()
    damage(world, agent)
    held = world.found(request).request
    assert held.claim is not None
    other = HostProcess(pid=1, start_time="1", boot="other")
    changed = {"host": other} if "session" in whose else {"tool_use_id": "toolu_x"}
    claim = held.claim.with_(**changed)
    world.change("processing", request, claim=claim.to_data())

    said = world.use(agent)

    assert refused(said) == ("deny", WHY, False)
    assert world.code(request) is None
