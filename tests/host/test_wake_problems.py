"""Why an open session cannot be woken, in the same words everywhere."""

import os
import re
import time

import pytest
from hookworld import HookWorld
from storeworld import request

from bridge.api.bridge import Bridge
from bridge.errors import WaitTimeout
from bridge.host.wake_problems import (
    JUST_STARTED,
    NO_WATCH,
    UNANSWERED,
    complaint,
    find_wake_problem,
)
from bridge.protocol.outcome import Progress
from bridge.protocol.response import RequestFailed
from bridge.store import sessions, wakeups
from bridge.store.sessions import Session, SessionLimits


def signal(world: HookWorld, session: Session, *, ago_s: float) -> None:
    """Signal a session, which has not answered since."""
    wakeups.wake(world.store, [session])
    then = time.time_ns() - int(ago_s * 1_000_000_000)
    file = f"{wakeups.path_of(world.store.place, session.host)}/{wakeups.SIGNAL}"
    os.utime(file, ns=(then, time.time_ns()))


def without_age(words: str) -> str:
    """These words at any time in the next minute."""
    return re.sub(r"file for (6|7|8|9|10|11)\d s", "file for N s", words)


def record(world: HookWorld, session: Session) -> None:
    path = world.store.place.state / "sessions" / f"{session.session_id}.json"
    path.write_bytes(session.to_json())


@pytest.mark.parametrize(
    ("age_ms", "wakes", "signalled_s", "why"),
    [
        (60_000, True, None, None),
        (60_000, True, 1, None),
        (60_000, True, 9, UNANSWERED),
        (1_000, True, None, None),
        (1_000, True, 1, JUST_STARTED),
        (-60_000, True, 1, None),
        (60_000, False, None, NO_WATCH),
        (60_000, False, 9, NO_WATCH),
    ],
)
def test_each_cause_has_its_name(world, age_ms, signalled_s, why, *, wakes):
    (session,) = world.live()
    begun = world.store.now_ms() - age_ms
    session = session.with_(registered_at=begun, wakes=wakes)
    if signalled_s is not None:
        signal(world, session, ago_s=signalled_s)

    assert find_wake_problem(world.store, session) is why


def test_a_session_that_can_be_woken_is_no_cause(world):
    (session,) = world.live()
    unwatched = session.with_(wakes=False)

    assert complaint(world.store, [unwatched, session]) == ""
    assert complaint(world.store, []) == ""


def test_error_an_unanswered_wake_up_is_named_by_who_waits(world):
    """`ask` ends its request with these words, and `doctor` shows them."""
    (session,) = world.live()
    signal(world, session, ago_s=60)
    reason = (
        f"; session {session.session_id} (pid {session.host.pid}) has not answered its "
        f"wake-up file for N s: {UNANSWERED.cause}; {UNANSWERED.cure}"
    )
    asked_id = world.submit()
    outside = Bridge(world.bridge.settings.with_(host_pid=None), world.project)

    with pytest.raises(WaitTimeout) as waited:
        world.bridge.wait(asked_id, timeout_s=0.1)
    with pytest.raises(RequestFailed) as asked:
        outside.ask("hello", timeout_s=0.1)

    assert without_age(waited.value.what) == (
        f"request {asked_id}: no answer within 0.1 s: nobody had taken it{reason}. "
        "It goes on"
    )
    assert without_age(asked.value.what).endswith(
        f"no answer within 0.1 s: nobody had taken it{reason}"
    )


def test_error_a_session_without_a_watch_is_named(world):
    (session,) = world.live()
    record(world, session.with_(wakes=False))
    asked_id = world.submit()

    with pytest.raises(WaitTimeout) as waited:
        world.bridge.wait(asked_id, timeout_s=0.1)

    assert waited.value.what.removesuffix(". It goes on").endswith(
        f"does not watch its wake-up file: {NO_WATCH.cause}; {NO_WATCH.cure}"
    )


@pytest.mark.parametrize("is_spent", [False, True], ids=["not woken", "spent"])
def test_ask_tells_at_once_what_status_knows(world, is_spent):
    """Nobody waits for minutes for a session that would not take it."""
    (session,) = world.live()
    limits = SessionLimits(slots=4, agents_per_hour=0) if is_spent else session.limits
    record(world, session.with_(wakes=is_spent, limits=limits))
    outside = Bridge(world.bridge.settings.with_(host_pid=None), world.project)
    told: list[Progress] = []

    with pytest.raises(RequestFailed) as asked:
        outside.ask("hello", timeout_s=0.1, on_progress=told.append)

    (work,) = told
    assert asked.value.what.endswith(f"nobody had taken it; {work.waits}")
    assert not outside.hosts.can_answer(request("a"), within_s=60)


def test_a_wake_up_that_is_answered_shows_a_watch(world):
    """What the client does counts, whatever the record says."""
    (session,) = world.live()
    record(world, session.with_(wakes=False))
    wakeups.wake(world.store, [session])

    world.fire("FileChanged")

    assert [s.wakes for s in sessions.live_sessions(world.store)] == [True]
