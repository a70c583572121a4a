"""Which programs may ask what a session knows, and which session is asked."""

import os

import pytest
from defining import define
from forkworld import another_session, dropped, ended, forked, share

from bridge import CannotContinue, InvalidRequest, NoHost
from bridge.agents.trust import InsideSession
from bridge.store import idle_agents
from bridge.store.host_process import identify
from bridge.store.sessions import Session

# Who may ask

OF_A_MODEL = {
    "an agent": {"parentRequestId": "above", "depth": 1},
    "an agent of some depth": {"depth": 1},
    "an agent of some parent": {"parentRequestId": "above"},
    "a session": {"asker": "session-1"},
}


@pytest.mark.parametrize("who", OF_A_MODEL)
def test_no_model_gets_a_conversation(world, who):
    """Words in what it reads could have it ask."""
    share(world)

    code, message = ended(world, dropped(world, **OF_A_MODEL[who]))

    assert code == "bad_request"
    assert message.startswith("an agent asks, or what a session has started")


def test_what_runs_in_a_session_is_refused(world):
    """Whatever its environment says: the session itself, its agents and their tools."""
    share(world)

    with pytest.raises(InsideSession) as refused:
        world.bridge.submit("Well?", context="session")

    assert refused.value.what == (
        "this runs inside a Claude Code session, whose model could decide; run "
        "`hostbridge ask --context session` in a terminal of your own"
    )


def test_a_process_below_a_client_is_refused_without_its_variables(world, program):
    """This one is the client."""
    share(world)
    me = identify(os.getppid())
    session = Session(session_id="session-2", host=me, registered_at=1)
    with world.store.folder("sessions") as folder:
        folder.create("session-2.json", session.to_json())

    with pytest.raises(InsideSession):
        program.submit("Well?", context="session", session="session-1")


def test_a_fork_is_asked_only_once(world):
    """Whoever continues it would have the conversation, too."""
    request, agent = forked(world)
    world.stop(agent)

    with pytest.raises(CannotContinue, match="a fork of a session"):
        world.bridge.submit("And?", continues=request)
    with world.store.state() as state:
        assert idle_agents.all_idle(state) == []


@pytest.mark.parametrize("name", ["fork", "Fork", "f-ork", "F O R K", "\uff46ork"])
def test_a_fork_by_the_name_of_its_agent(world, name):
    """The client takes such names for its own."""
    share(world)
    world.drop("named", agentType=name, prompt="Well?")
    world.say("UserPromptSubmit", prompt="hi")

    output = world.call_agent("bridge:named")

    assert output["permissionDecision"] == "deny"
    code, message = ended(world, "named")
    assert (code, "--context session" in message) == ("bad_request", True)


def test_a_definition_cannot_make_its_agent_a_fork(world, program):
    share(world)
    define(world, "subagent_type: fork\n")

    with pytest.raises(InvalidRequest, match="--context session, without an agent"):
        program.submit("Well?", "worker")
    world.drop("named", agentType="worker", prompt="Well?")
    world.say("UserPromptSubmit", prompt="hi")
    world.call_agent("bridge:named")
    assert world.code("named") == "bad_request"


# Whose conversation


def test_of_several_sessions_one_is_named(world, program):
    share(world)
    with another_session(world):
        with pytest.raises(InvalidRequest) as refused:
            program.submit("Well?", context="session")
        named = program.submit("Well?", context="session", session="session-2")
        code, message = ended(world, dropped(world))
        request = dropped(world, "named", session="session-1")

    several = (
        "2 sessions are open here, each with a conversation of its own; name the one "
        "that is meant: --session session-1 or --session session-2"
    )
    assert refused.value.what == several
    assert (code, message) == ("bad_request", several)
    assert world.found(named).request.session == "session-2"
    assert world.found(request).request.claim.session == "session-1"


def test_without_a_session_nothing_is_asked(world, program):
    share(world)
    world.say("SessionEnd", reason="other")

    with pytest.raises(NoHost):
        program.submit("Well?", context="session")


def test_what_was_cleared_is_not_asked(world, program):
    """The session goes on, and knows nothing of what was meant."""
    share(world)
    offered, waiting = dropped(world), program.submit("A?", context="session")
    world.session = "session-1b"
    world.say("SessionStart", source="clear")
    world.say("UserPromptSubmit", prompt="hi")

    output = world.call_agent(f"bridge:{offered}")

    assert output["permissionDecision"] == "deny"
    cleared = "its conversation was cleared since, and the session goes on without it"
    for request in (waiting, offered):
        assert ended(world, request) == ("bad_request", f"session session-1: {cleared}")
    with pytest.raises(InvalidRequest, match="goes on as session-1b"):
        program.submit("B?", context="session", session="session-1")


def test_what_needs_no_conversation_outlives_it(world):
    """Any other request goes on in the session that was cleared."""
    world.drop("plain", prompt="Well?", session="session-1")
    world.say("UserPromptSubmit", prompt="hi")
    world.session = "session-1b"
    world.say("SessionStart", source="clear")

    output = world.call_agent("bridge:plain")

    assert output["permissionDecision"] == "allow"
