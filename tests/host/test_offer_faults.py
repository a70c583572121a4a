"""Offers and wake-ups while the lock is held, or where nothing can be written."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bridge.errors import StateUnavailable
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.host.turn_events import stop
from bridge.protocol.hook_output import WAKES
from bridge.store import wakeups
from bridge.store.lock import LockBusy
from bridge.store.state import State
from bridge.store.store import Store


def test_a_wake_up_that_cannot_be_answered_is_repeated(world):
    """Another hook has the lock: the wake must not be lost."""
    world.submit()
    (session,) = world.live()

    with world.store.exclusive(), pytest.raises(LockBusy):
        world.fire("FileChanged", file_path="wake", event="add")
    woken = world.fire("FileChanged", file_path="wake", event="add")

    assert woken.exit_code == WAKES
    assert woken.stderr.startswith("hostbridge: call Agent once")
    assert not wakeups.clear(world.store, session.host)


@pytest.mark.parametrize("name", ["bell", "bell/of a session"])
def test_a_wake_up_that_cannot_be_sent_keeps_no_request_back(world, tmp_path, name):
    """What is durable was asked: an error would have the asker ask again."""
    bell = world.store.place.state / "bell"
    if name != "bell":
        (bell,) = bell.iterdir()
    bell.rename(tmp_path / "away")
    bell.symlink_to(tmp_path / "away")

    request = world.submit()

    assert world.found(request).status == "pending"
    assert not list((tmp_path / "away").rglob(wakeups.SIGNAL))


class Contested(Store):
    """A store whose lock is somebody else's once it was had so many times."""

    left = 0

    @contextmanager
    def state(self, *, make: bool = True) -> Iterator[State]:
        """The folders, with a lock that is held elsewhere."""
        with super().state(make=make) as state:
            free = state.hold

            @contextmanager
            def hold():
                self.left -= 1
                if self.left < 0:
                    raise LockBusy("held")
                with free():
                    yield

            state.hold = hold  # type: ignore[method-assign]
            yield state


@pytest.mark.parametrize("times", range(5))
def test_what_counts_as_asked_is_said(world, times):
    """Wherever the lock is held: what was not said cannot be declined."""
    first, second = world.submit(), world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    world.submit()
    (session,) = world.live()
    event = HookEvent.parse(json.dumps(world.event("Stop")).encode())
    assert event is not None
    store = Contested(world.store.place)
    # One is for the sweep.
    store.left = times + 1
    state = world.store.place.state
    os.utime(state / "requests", (1, 1))

    try:
        words = stop(
            HookContext(world.bridge.settings, store, event, session, [])
        ).stdout
    except LockBusy:
        words = b""

    for each in (first, second):
        found = world.found(each).request
        repeated = len(found.claim.offers) > 1
        assert (f"bridge:{each}".encode() in words) == repeated
    # A queue that could not be looked at is not marked as looked at.
    looked = state / "sessions" / f"{world.session}.looked"
    assert looked.exists() == (times > 2)


@pytest.mark.parametrize(
    ("step", "look"),
    [
        ("bridge.store.store.Store.has_waiting", lambda world, run: world.stop(run)),
        (
            "bridge.host.offers.open_offers",
            lambda world, _: world.say("UserPromptSubmit", prompt="hello"),
        ),
    ],
    ids=["stop", "prompt"],
)
def test_a_look_that_fails_is_no_look(world, monkeypatch, step, look):
    """A disk that fails once: the shell would rest, and the request wait for ever."""
    _, agent = world.working()
    world.submit()
    state = world.store.place.state
    os.utime(state / "requests", (1, 1))

    def fail(*_):
        raise StateUnavailable("input/output error")

    monkeypatch.setattr(step, fail)
    with pytest.raises(StateUnavailable):
        look(world, agent)

    assert not (state / "sessions" / f"{world.session}.looked").exists()
