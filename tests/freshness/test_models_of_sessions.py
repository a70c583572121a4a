"""Which model a session has now, and which one gave the answer."""

from __future__ import annotations

import time

from cachedworld import TICK_S
from sessionlooks import answered, is_reused, reasons


def test_an_answer_of_the_model_that_the_session_had_is_not_reused(session):
    """After `/model`, which starts no turn and asks nobody."""
    answered(session)
    assert is_reused(session)

    session.say("PostModelSwitch", from_model="claude-m-1", to_model="claude-m-2")

    assert reasons(session) == [
        "model: claude-m-1 gave it, and the session has claude-m-2"
    ]
    assert not is_reused(session)
    session.say("PostModelSwitch", from_model="claude-m-2", to_model="claude-m-1")
    assert reasons(session) == []


def test_an_answer_of_a_model_that_was_named_holds_whatever_the_session_has(session):
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.", model="haiku")
    session.stop(agent)

    session.say("PostModelSwitch", from_model="claude-m-1", to_model="claude-m-2")

    assert reasons(session) == []


def test_a_model_that_was_switched_while_the_agent_worked_gave_no_answer_yet(session):
    """The agent began with the other one."""
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.")
    session.say("PostModelSwitch", from_model="claude-m-1", to_model="claude-m-2")
    session.stop(agent)

    assert reasons(session) == [
        "model: claude-m-1 gave it, and the session has claude-m-2"
    ]


def test_an_answer_of_a_model_that_nobody_knows_is_not_reused(session):
    """A client that does not say which model it has, or did not then."""
    session.say("PostModelSwitch", from_model="claude-m-1")
    answered(session)

    assert reasons(session) == ["model: which model gave it is not known"]
    assert not is_reused(session)


def test_a_session_that_does_not_say_its_model_has_one_of_its_own(session):
    """As with stream-json: until the client tells of a switch."""
    session.say("SessionEnd", reason="other")
    session.session = "session-untold"
    session.say("SessionStart", source="startup")
    answered(session)
    assert is_reused(session)

    session.say("SessionEnd", reason="other")
    session.session = "session-other"
    session.say("SessionStart", source="startup")

    assert reasons(session) == [
        (
            "model: the first of session session-untold gave it, and the session has "
            "the first of session session-other"
        )
    ]


def test_where_no_session_is_open_no_other_model_could_answer(session):
    request = answered(session)
    session.say("PostModelSwitch", from_model="claude-m-1", to_model="claude-m-2")
    session.say("SessionEnd", reason="other")

    assert session.bridge.ask("Look.", cached=True).request_id == request
