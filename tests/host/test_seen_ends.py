"""An agent hands its answer back: what the client goes on with."""

import pytest
from hookworld import GOOD, running

from bridge.host.run_ends import RECEIPT


@pytest.fixture
def handed_back(world, request):
    """What is decided about a valid answer, in one kind of session."""
    name, _, agent = world.begin(answer_to_host=request.param == "to the host")
    world.change("sessions", world.session, oneShot=request.param == "one-shot")
    call = {"message": GOOD, "other": 1}

    said = world.use(agent, "SubagentHandback", tool_input=call)

    assert world.code(name) == "success"
    return said


@pytest.mark.parametrize("handed_back", ["one-shot"], indirect=True)
def test_a_receipt_goes_to_a_host_that_waits(handed_back):
    """The turn waits for the agent, which must go on to its end."""
    assert handed_back["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"message": RECEIPT, "other": 1},
    }


@pytest.mark.parametrize("handed_back", ["open"], indirect=True)
def test_an_agent_ends_with_its_answer(handed_back):
    assert handed_back["continue"] is False
    assert handed_back["hookSpecificOutput"]["permissionDecisionReason"] == RECEIPT


@pytest.mark.parametrize("handed_back", ["to the host"], indirect=True)
def test_a_host_that_wants_the_answer_gets_it(handed_back):
    assert handed_back == {}


def test_a_helper_hears_of_its_own_helpers_end(world):
    """The client may not tell it; then its report goes on to its own caller."""
    _, _, agent = world.begin()
    helper = world.nest(agent)
    leaf = world.nest(helper)
    world.stop(leaf, "leaf words", background_tasks=running(agent, helper))

    said = world.stop(helper, "soon", background_tasks=running(agent, helper))
    after = world.stop(helper, "inner words", background_tasks=running(agent, helper))

    assert said["decision"] == "block"
    assert said["reason"].endswith(f"Agent {leaf}:\nleaf words")
    assert after == {}
