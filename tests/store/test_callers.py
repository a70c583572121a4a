"""Whose a call of our MCP tools is, as the server asks for it."""

from concurrent.futures import ThreadPoolExecutor

from storeworld import this_process

from bridge.store import sessions
from bridge.store.sessions import Session
from bridge.store.switch import is_off, switch_off, switch_on
from bridge.store.tool_calls import Agent, SessionAgent, caller_of, note_caller

MAIN = Agent()
EXPLORER = Agent(agent_id="agent-a", agent_type="Explore")


def test_each_call_has_its_caller(store):
    """One server serves the session and all its agents."""
    note_caller(store, SessionAgent("s1", MAIN), "toolu_1")
    note_caller(store, SessionAgent("s1", EXPLORER), "toolu_2")
    note_caller(store, SessionAgent("s2", MAIN), "functions.start:0")

    assert caller_of(store, "toolu_1") == SessionAgent("s1", MAIN)
    assert caller_of(store, "toolu_2") == SessionAgent("s1", EXPLORER)
    assert caller_of(store, "functions.start:0") == SessionAgent("s2", MAIN)
    assert caller_of(store, "toolu_3") is None


def test_nobody_calls_where_there_is_no_state(store):
    assert caller_of(store, "toolu_1") is None
    assert not store.exists()


def test_the_oldest_calls_are_forgotten(store):
    for number in range(205):
        note_caller(store, SessionAgent("s1", MAIN), f"toolu_{number}")
    note_caller(store, SessionAgent("s1", MAIN), "")
    note_caller(store, SessionAgent("s1", MAIN), "x" * 100_000)

    with store.folder("sessions") as folder:
        assert len(folder.read("s1.callers.json") or b"") < 20_000
    assert caller_of(store, "toolu_4") is None
    assert caller_of(store, "toolu_5") == caller_of(store, "toolu_204")
    assert caller_of(store, "x" * 100_000) is None


def test_calls_at_once_are_all_written_down(store):
    """The hooks of several calls in one message run beside each other."""
    calls = [f"toolu_{number}" for number in range(100)]

    def note(call):
        note_caller(store, SessionAgent("s1", MAIN), call)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(note, calls))

    assert all(caller_of(store, call) for call in calls)


def test_a_broken_record_names_nobody(store):
    with store.folder("sessions") as folder:
        folder.replace("s1.callers.json", b'{"calls": [')
    assert caller_of(store, "toolu_1") is None

    note_caller(store, SessionAgent("s1", MAIN), "toolu_1")

    assert caller_of(store, "toolu_1") == SessionAgent("s1", MAIN)


def test_the_record_goes_with_its_session(store):
    session = Session(session_id="s1", host=this_process(), registered_at=1)
    sessions.save(store, session)
    note_caller(store, SessionAgent("s1", MAIN), "toolu_1")

    sessions.remove(store, session)

    assert caller_of(store, "toolu_1") is None


# The switch: everything, or one session, until it is switched on again


SESSION = Session(session_id="s", host=this_process(), registered_at=1)


def test_one_session_can_be_off(store):
    switch_off(store, SESSION)

    assert is_off(store, "s")
    assert not is_off(store)
    assert not is_off(store, "t")
    assert (switch_on(store), switch_on(store, SESSION)) == (False, True)
    assert not is_off(store, "s")
