"""The switch: everything, or one session, until it is switched on again."""

from __future__ import annotations

from storeworld import path_of, this_process

from bridge.store.sessions import Session
from bridge.store.switch import is_off, switch_off, switch_on, switched_off

SESSION = Session(session_id="s", host=this_process(), registered_at=1)


def test_where_nothing_was_asked_nothing_is_off(store):
    assert not is_off(store)
    assert not switch_on(store)
    assert not path_of(store, "").exists()


def test_everything_can_be_off(store):
    switch_off(store)

    assert (is_off(store), is_off(store, "s")) == (True, True)
    assert "s" in switched_off(store)
    assert (switch_on(store, SESSION), switch_on(store)) == (False, True)
    assert (is_off(store), switch_on(store)) == (False, False)


def test_one_session_can_be_off(store):
    switch_off(store, SESSION)

    assert (is_off(store), is_off(store, "s"), is_off(store, "t")) == (
        False,
        True,
        False,
    )
    assert (switch_on(store), switch_on(store, SESSION)) == (False, True)
    assert not is_off(store, "s")
