"""Which model a session has now, and which one gave the answer."""

import pytest
from counted import lines_of
from sessionlooks import answered, define, is_reused, reasons, working

pytestmark = pytest.mark.slow

OTHER = ["model: claude-m-1 gave it, and the session has claude-m-2"]


def switch(session, before, after):
    """`/model`, which starts no turn and asks nobody."""
    session.say("PostModelSwitch", from_model=before, to_model=after)


def begin_another(session, name):
    session.say("SessionEnd", reason="other")
    session.session = name
    session.say("SessionStart", source="startup")


def test_an_answer_of_the_model_that_the_session_had_is_not_reused(session):
    """After `/model`, which starts no turn and asks nobody."""
    answered(session)
    assert is_reused(session)

    switch(session, "claude-m-1", "claude-m-2")

    assert reasons(session) == OTHER
    assert not is_reused(session)
    switch(session, "claude-m-2", "claude-m-1")
    assert reasons(session) == []


def test_an_answer_of_a_model_that_was_named_holds_whatever_the_session_has(session):
    _request, agent = working(session, model="haiku")
    session.stop(agent)

    switch(session, "claude-m-1", "claude-m-2")

    assert reasons(session) == []


def test_a_model_that_was_switched_while_the_agent_worked_gave_no_answer_yet(session):
    """The agent began with the other one."""
    _request, agent = working(session)
    switch(session, "claude-m-1", "claude-m-2")
    session.stop(agent)

    assert reasons(session) == OTHER


def test_an_answer_of_a_model_that_nobody_knows_is_not_reused(session):
    """A client that does not say which model it has, or did not then."""
    session.say("PostModelSwitch", from_model="claude-m-1")
    answered(session)

    assert reasons(session) == ["model: which model gave it is not known"]
    assert not is_reused(session)


def test_a_session_that_does_not_say_its_model_has_one_of_its_own(session):
    """As with stream-json: until the client tells of a switch."""
    begin_another(session, "session-untold")
    answered(session)
    assert is_reused(session)

    begin_another(session, "session-other")

    gave, has = (f"the first of session session-{name}" for name in ("untold", "other"))
    assert reasons(session) == [f"model: {gave} gave it, and the session has {has}"]


def test_where_no_session_is_open_no_other_model_could_answer(session):
    request = answered(session)
    switch(session, "claude-m-1", "claude-m-2")
    session.say("SessionEnd", reason="other")

    assert session.bridge.ask("Look.", cached=True).request_id == request


def test_sessions_and_definitions_are_read_once_for_all_answers(session):
    """Of 20,000 answers this took minutes. An open session is a file to read, too."""
    define(session, "")
    bridge, costs = session.bridge, []
    for number in range(1, 7):
        request, _call, agent = session.begin(agent="terse", prompt=f"Look {number}.")
        session.stop(agent)
        assert session.code(request) == "success"
        costs.append(lines_of(bridge.stale))

    (each, *_) = [standing.state for standing in bridge.stale()]
    assert each == "fresh"
    assert (costs[5] - costs[1]) / 4 < 8_000
