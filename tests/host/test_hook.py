"""A lock that somebody else holds: which events wait for it longer than others."""

import json
import threading
import time

import pytest

from bridge.errors import StateUnavailable, StateVanished
from bridge.host import dispatch
from bridge.protocol.hook_output import SILENT, specific
from bridge.store import hook_log, wakeups
from bridge.store.lock import LockBusy
from bridge.store.store import Store


@pytest.fixture
def held(world, monkeypatch):
    """The lock is held, until somebody waits for it."""
    monkeypatch.setattr(dispatch, "LOCK_WAIT_S", 0)
    monkeypatch.setattr(dispatch, "PATIENT_LOCK_WAIT_S", 36_000)
    world.say("UserPromptSubmit", prompt="hello")
    is_held, is_waited_for = threading.Event(), threading.Event()
    sleep = time.sleep

    def wait(seconds):
        is_waited_for.set()
        sleep(seconds)

    def hold():
        with Store(world.store.place).exclusive():
            is_held.set()
            is_waited_for.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    monkeypatch.setattr(time, "sleep", wait)
    yield
    is_waited_for.set()
    holder.join()


@pytest.fixture
def begun(world):
    """A request, and its agent."""
    request, _, agent = world.begin()
    return request, agent


def test_an_agent_that_ends_waits_for_the_lock(
    world,
    begun,
    held,  # noqa: ARG001 - locked
):
    """It stops once for each of its words: nobody could correct them later."""
    request, agent = begun

    said = world.stop(agent, "It went well.")

    assert said["decision"] == "block"
    assert world.code(request) is None


def test_what_can_be_done_later_does_not_wait(
    world,
    held,  # noqa: ARG001 - locked
):
    with pytest.raises(LockBusy):
        world.say("UserPromptSubmit", prompt="hello")


def test_a_failed_start_still_names_what_to_watch(world):
    """No other event could; but no session starts in a subagent."""
    (session,) = world.live()
    folder = wakeups.path_of(world.store.place, session.host)

    def watched(**fields):
        event = world.event("SessionStart", **fields)
        return dispatch.only_watch(json.dumps(event).encode())

    assert watched() == specific("SessionStart", watchPaths=[folder])
    assert watched(agent_id="a") == watched(session_id="?") == SILENT


@pytest.mark.parametrize(
    ("error", "event", "is_fault"),
    [
        (LockBusy("busy"), "Stop", False),
        (LockBusy("busy"), "SubagentStop", True),
        (StateVanished("gone"), "SubagentStop", False),
        (StateUnavailable("full"), "Stop", True),
        (ValueError("ours"), "Stop", True),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else str(each),
)
def test_only_faults_are_logged(world, error, event, *, is_fault):
    """What the next event does, and what nobody can do any more, is no fault."""
    try:
        raise error
    except type(error):
        hook_log.log_failure(event)

    log = world.home / ".hostbridge" / "hook-errors.log"
    assert log.exists() is is_fault
