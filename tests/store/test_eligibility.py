"""Who may take a request: found with few looks, however many sessions are open."""

import os

import pytest
from storeworld import CountingStore, request, store_in

from bridge.store import claim, sessions, switch
from bridge.store.host_process import identify
from bridge.store.sessions import Session
from bridge.store.switch import eligible


@pytest.fixture
def store(tmp_path):
    """With a hundred open sessions, of which s3 is switched off."""
    host = identify(os.getpid())
    assert host is not None
    made = CountingStore(store_in(tmp_path).place)
    with made.state() as state, state["sessions"] as folder:
        for number in range(100):
            session = Session(session_id=f"s{number}", host=host, registered_at=number)
            folder.create(f"s{number}.json", session.to_json())
        folder.touch("s3.off")
    made.opened = 0
    return made


def test_more_sessions_open_the_state_no_more_often(store):
    """A submit took 19 ms with a hundred of them, and 4 with one."""
    live = sessions.live_sessions(store)

    able = eligible(store, live, request("a"))

    assert {s.session_id for s in live} - {s.session_id for s in able} == {"s3"}
    assert store.opened == 2


def test_only_sessions_that_may_take_it_are_looked_for(store, monkeypatch):
    """To see whether a process lives takes longer than to read what it is."""
    looked: list[object] = []
    alive = claim.liveness
    monkeypatch.setattr(claim, "liveness", lambda h: looked.append(h) or alive(h))
    asked = request("a", session="s7")

    found = sessions.live_sessions(store, which=lambda session: session.may_take(asked))

    assert [session.session_id for session in found] == ["s7"]
    assert len(looked) == 1


def test_where_the_project_is_off_no_session_may_take_it(store):
    switch.switch_off(store)

    assert eligible(store, sessions.live_sessions(store), request()) == []
