"""What ends an agent of ours early, and what is denied to it."""

import pytest
from defining import started, use

from bridge.store.subagent_runs import find_agent
from bridge.store.switch import switch_off


def test_nothing_is_corrected_after_the_deadline(world):
    request, _, agent = world.begin()
    world.change("processing", request, createdAt=1, uptime=None)

    said = world.stop(agent, "Done!")

    assert said == {}
    assert world.code(request) == "no_json"


def test_an_agent_does_nothing_after_the_deadline(world):
    """A tool that ran past it was its last, whether or not anybody waits."""
    request, agent = world.working(timeout_s=60)
    world.change("agents", agent, answerAt=1)
    world.change("processing", request, createdAt=1, uptime=None)

    said = world.use(agent)

    assert said["continue"] is False
    assert world.code(request) == "timeout"


def test_an_agent_stops_when_the_user_switches_the_bridge_off(world):
    """Its request waits for another session, or until the bridge is on again."""
    request, agent = world.working()
    switch_off(world.store)

    said = world.use(agent)

    reason = said["hookSpecificOutput"]["permissionDecisionReason"]
    assert reason == "hostbridge was switched off; stop working."
    assert said["continue"] is False
    assert world.found(request).status == "pending"


@pytest.mark.parametrize(
    ("fields", "has"),
    [
        ("tools: []", " It has: no tools."),
        ("tools: [Read, Grep]", " It has: Read, Grep."),
        ("blocked_tools: [Bash]", ""),
    ],
)
def test_an_agent_hears_which_tools_it_has(world, fields, has):
    reason, _ = use(world, started(world, f"{fields}\n"), "Bash")

    assert reason == (
        f"hostbridge: the definition of this agent keeps Bash from it.{has} Work "
        "without it, or answer that you are blocked and by what."
    )


def test_the_warning_leaves_time_to_answer(world):
    """At the deadline itself it would come too late."""
    request, _, _ = world.begin(timeout_s=100)

    (run,) = world.runs()

    asked = world.found(request).request
    assert asked.deadline_ms - 15_000 <= run.answer_by < asked.deadline_ms - 10_000


def test_a_stop_ends_no_agents_of_another_client(world):
    request, agent = world.working()
    run = find_agent(world.store, agent)
    world.change("agents", agent, host=run.host.to_data() | {"pid": 1})

    world.say("Stop", background_tasks=[])

    left = find_agent(world.store, agent)
    assert world.code(request) is None
    assert left.state == "running"


def test_error_agents_are_nested_no_deeper_than_the_limit(world, monkeypatch):
    """The limit itself is allowed."""
    monkeypatch.setenv("BRIDGE_MAX_DEPTH", "1")
    _, agent = world.working()

    nested = world.nest(agent)
    said = world.use(nested, "Agent", tool_input={"prompt": "x", "description": "d"})

    assert find_agent(world.store, nested) is not None
    assert said["hookSpecificOutput"]["permissionDecisionReason"] == (
        "hostbridge: 2 agents stand above this call; 1 is the limit. Do the work "
        "yourself."
    )
