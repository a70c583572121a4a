"""How a waiter looks after its requests, even while the lock is held."""

import os

import pytest
from servingworld import open_session
from storeworld import START_US, FakeClock, dead_process, request, store_in

from bridge.api.upkeep import TEND_S, WAKE_S, Abandoned, Tender, complaint_of
from bridge.errors import StateVanished
from bridge.protocol.ids import RequestId
from bridge.protocol.status import Stage, Status, ignore
from bridge.store import Claimant, sessions, wakeups
from bridge.store.store import Store

pytestmark = pytest.mark.slow

A = RequestId("a")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store(tmp_path, clock):
    made = store_in(tmp_path, clock=clock, lock_wait_s=0.0)
    made.submit(request(A, timeout=1000, created_at=START_US // 1000))
    return made


def status(store: Store) -> Status | None:
    found = store.find(A)
    return found.status if found else None


def test_error_a_request_that_is_gone(tmp_path):
    """The new folders may have the inodes of the old: `wait` sees no change then."""
    store = store_in(tmp_path)
    store.submit(request(A))
    (store.place.state / "requests" / "a.json").unlink()
    tend = Tender(store, {A}, on_stage=ignore)

    with pytest.raises(StateVanished) as caught:
        list(store.wait([A], timeout_s=30, tend=tend))

    assert str(caught.value) == (
        f"request a has vanished: {store.place.state} was removed or replaced while "
        "waiting"
    )


def test_an_unreadable_request_is_not_gone(store, clock):
    """It may still be being written."""
    (store.place.state / "requests" / "a.json").write_text("{")
    clock.go_on(TEND_S)

    Tender(store, {A}, on_stage=ignore)()


def test_stages_are_reported_while_the_lock_is_held(store, clock, tmp_path):
    """An overdue request is ended as soon as the lock is free."""
    stages: list[Stage] = []
    tend = Tender(store, {A}, on_stage=stages.append)

    with store_in(tmp_path).exclusive():
        clock.go_on(TEND_S)
        tend()
        held = status(store)
    clock.go_on(TEND_S)
    tend()

    assert stages == [Stage.NO_HOST, Stage.NO_HOST]
    assert (held, status(store)) == (Status.PENDING, Status.TIMEOUT)


def test_an_abandoned_wait_ends_while_the_lock_is_held(store, clock, tmp_path):
    """A cancelled wait must not last as long as somebody holds the lock."""

    def leave(_stage):
        raise Abandoned("gone")

    tend = Tender(store, {A}, on_stage=leave)
    clock.go_on(TEND_S)

    with store_in(tmp_path).exclusive(), pytest.raises(Abandoned):
        tend()


def test_a_stage_is_reported_when_due_and_not_after_the_end(store, clock):
    stages: list[Stage] = []
    tend = Tender(store, {A}, on_stage=stages.append)

    for seconds in (0.5, TEND_S - 0.5, TEND_S):
        clock.go_on(seconds)
        tend()

    assert stages == [Stage.NO_HOST]
    assert status(store) is Status.TIMEOUT


@pytest.fixture
def asked(tmp_path, clock):
    """The state of a request that has time."""
    store = store_in(tmp_path, clock=clock)
    store.submit(request(A, created_at=START_US // 1000))
    return store


def test_a_request_of_a_dead_host_wakes_another_session(asked, clock):
    """An idle session does not look by itself."""
    asked.claim(Claimant("gone", dead_process()), 1, lambda _: "take")
    idle = open_session(asked)
    tend = Tender(asked, {A}, on_stage=ignore)

    clock.go_on(TEND_S)
    tend()

    assert status(asked) is Status.PENDING
    assert wakeups.unanswered_s(asked, idle.host) is not None


def test_an_unanswered_wake_up_is_repeated_soon(asked, clock):
    """The first may have come before the session watched its file."""
    idle = open_session(asked)
    tend = Tender(asked, {A}, on_stage=ignore)
    wakeups.wake(asked, [idle])
    file = f"{wakeups.path_of(asked.place, idle.host)}/{wakeups.SIGNAL}"
    first_ns = START_US * 1000
    os.utime(file, ns=(first_ns, first_ns))

    clock.go_on(TEND_S)
    tend()
    again_ns = os.stat(file).st_mtime_ns
    wakeups.clear(asked, idle.host)
    clock.go_on(TEND_S)
    tend()

    assert again_ns - first_ns == TEND_S * 1_000_000_000
    assert wakeups.unanswered_s(asked, idle.host) is None


def test_a_session_that_ignores_an_offer_is_woken(asked, clock):
    """The offer may have got lost, and only a hook can repeat it."""
    idle = open_session(asked)
    (offered,) = asked.claim(Claimant("open", idle.host), 1, lambda _: "take")
    tend = Tender(asked, {A}, on_stage=ignore)

    clock.go_on(WAKE_S)
    tend()

    assert offered.stage is Stage.OFFERED
    assert wakeups.unanswered_s(asked, idle.host) is not None


@pytest.mark.parametrize(("silent_s", "is_signalled"), [(3, False), (60, True)])
def test_a_session_whose_hooks_are_silent_looks_for_missed_ends(
    asked, clock, silent_s, is_signalled
):
    """All hooks that tell of an agent's end may be missed, and no event may follow."""
    idle = open_session(asked)
    asked.claim(Claimant("open", idle.host), 1, lambda _: "take")
    launched_ms = asked.now_ms()
    asked.change_claim(A, idle.host, lambda c: c.with_(launched_at=launched_ms))
    sessions.beat(asked, "open")
    beat = asked.place.state / "sessions" / "open.beat"
    tend = Tender(asked, {A}, on_stage=ignore)

    clock.go_on(WAKE_S)
    last_s = asked.now_ms() / 1000 - silent_s
    os.utime(beat, (last_s, last_s))
    tend()

    assert (wakeups.unanswered_s(asked, idle.host) is not None) is is_signalled


def test_why_no_session_has_heard_of_a_request(store):
    """It matters only for a request that waits for a session."""
    asked = request("b")

    def complaint(stage=Stage.WAITING, **fields):
        return complaint_of(store, asked.with_(**fields), stage)

    assert complaint() == ""
    open_session(store, wakes=False)
    assert "does not watch its wake-up file" in complaint()
    assert [complaint(Stage.RUNNING), complaint(route="claude")] == ["", ""]


class Counting(Store):
    """Counts how often it looks for a request, and how often it sweeps."""

    finds = sweeps = 0

    def find(self, request_id):
        self.finds += 1
        return super().find(request_id)

    def sweep(self, **how):
        self.sweeps += 1
        return super().sweep(**how)


def test_a_thousand_waiters_share_the_work(store, clock):
    """One sweeps for all; each still reports, so that it can be cancelled (P4, P9)."""
    counting = Counting(store.place, clock=clock)
    b = RequestId("b")
    counting.submit(request(b, created_at=START_US // 1000))
    stages: list[Stage] = []
    all_of_them = [Tender(counting, {b}, on_stage=stages.append) for _ in range(1000)]
    clock.go_on(TEND_S)

    for tend in all_of_them:
        tend()

    assert len(stages) == 1000
    assert counting.sweeps == 1
    assert 50 <= counting.finds <= 60
