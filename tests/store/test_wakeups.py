"""Wake-up folders: which are removed, which stay, and when a signal is a change."""

import os
import time

import pytest
from storeworld import (
    START_US,
    FakeClock,
    dead_process,
    store_in,
    this_process,
    unseen_process,
)

from bridge.protocol.claim import HostProcess
from bridge.store import wakeups
from bridge.store.sessions import Session
from bridge.store.store import Store

LEASE_S = 900


@pytest.fixture
def store(tmp_path):
    """By the real clock: the times of folders are the kernel's."""
    return store_in(tmp_path)


def signalled(store: Store, host: HostProcess, *, age_s: float = 0) -> str:
    """Make a wake-up folder with a signal in it that last changed a while ago."""
    folder = wakeups.prepare(store, host)
    wakeups.wake(store, [session(host)])
    then = time.time() - age_s
    os.utime(folder, (then, then))
    return os.path.basename(folder)


def session(host: HostProcess, *, age_s: float = 0) -> Session:
    at_ms = int((time.time() - age_s) * 1000)
    return Session(session_id=f"s{host.pid}", host=host, registered_at=at_ms)


def record(store: Store, known: Session) -> None:
    with store.state() as state, state["sessions"] as folder:
        folder.create(f"{known.session_id}.json", known.to_json())


def left(store: Store) -> list[str]:
    return sorted(os.listdir(store.place.state / "bell"))


def test_the_folder_of_a_process_that_is_gone_is_removed(store):
    """With whatever session it had on record."""
    host = dead_process()
    signalled(store, host, age_s=LEASE_S + 5)
    record(store, session(host))

    assert wakeups.remove_gone(store) == 1
    assert left(store) == []
    assert wakeups.remove_gone(store) == 0


@pytest.mark.parametrize(
    ("process", "age_s"), [(this_process, 10 * LEASE_S), (dead_process, 0)]
)
def test_a_folder_stays_while_its_session_may_begin(store, process, age_s):
    """Also without a session: made again, it would be dead to its watcher."""
    name = signalled(store, process(), age_s=age_s)

    assert wakeups.remove_gone(store) == 0
    assert left(store) == [name]


def test_an_unseen_process_lives_by_its_lease(store):
    """What a container watches cannot be seen from here."""
    host = unseen_process().with_(pid=1, start_time="x")
    name = signalled(store, host, age_s=10 * LEASE_S)
    record(store, session(host))
    on_record = wakeups.remove_gone(store), left(store)

    late = session(host, age_s=LEASE_S + 5)
    (store.place.state / "sessions" / f"{late.session_id}.json").unlink()
    record(store, late)

    assert on_record == (0, [name])
    assert wakeups.remove_gone(store) == 1


@pytest.mark.parametrize("name", ["mine", "7-xyz", "99999999999-0123456789ab"])
def test_what_is_no_folder_of_ours_stays(store, name):
    with store.state() as state, state["bell"] as folder:
        folder.folder(name).close()
        os.utime(f"{folder.path}/{name}", (1, 1))

    assert wakeups.remove_gone(store) == 0
    assert left(store) == [name]


def test_a_folder_with_more_in_it_stays(store):
    name = signalled(store, dead_process())
    folder = store.place.state / "bell" / name
    (folder / "mine").touch()
    os.utime(folder, (1, 1))

    assert wakeups.remove_gone(store) == 0
    assert os.listdir(folder) == ["mine"]


# Signals


def test_a_signal_is_always_a_change(store):
    """The client never reports a file that was there before its watch."""
    host = this_process()
    folder = wakeups.prepare(store, host)
    assert folder == wakeups.path_of(store.place, host)
    wakeups.wake(store, [session(host)])
    file = f"{folder}/{wakeups.SIGNAL}"
    long_ago = time.time_ns() - 60_000_000_000
    os.utime(file, ns=(long_ago, long_ago))

    wakeups.wake(store, [session(host)], again=True)

    facts = os.stat(file)
    assert (facts.st_atime_ns, facts.st_size) == (long_ago, 0)
    assert facts.st_mtime_ns > long_ago
    assert (wakeups.unanswered_s(store, host) or 0) >= 60


@pytest.mark.parametrize(("age_s", "is_left"), [(0.5, True), (2, False), (-60, False)])
def test_a_signal_has_time_to_be_still(tmp_path, age_s, *, is_left):
    """One that changes all the time is never reported; a clock may be set back."""
    store = store_in(tmp_path, clock=FakeClock())
    host = this_process()
    file = f"{wakeups.prepare(store, host)}/{wakeups.SIGNAL}"
    wakeups.wake(store, [session(host)])
    then = START_US * 1000 - int(age_s * 1_000_000_000)
    os.utime(file, ns=(then, then))

    wakeups.wake(store, [session(host)])

    assert (os.stat(file).st_mtime_ns == then) is is_left


def test_only_an_unanswered_signal_is_repeated(store):
    host = this_process()
    folder = wakeups.prepare(store, host)

    wakeups.wake(store, [session(host)], again=True)

    assert os.listdir(folder) == []
    assert wakeups.unanswered_s(store, host) is None
