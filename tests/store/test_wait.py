"""Waiting: P4. Real processes answer; the deadline is kept whatever happens."""

import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable

import pytest
from storeworld import FakeClock, answer, claim_all, drop, path_of, request

from bridge.errors import StateUnavailable, StateVanished
from bridge.store import folder_events, wait
from bridge.store.directory import Folder
from bridge.store.store import Store

pytestmark = pytest.mark.slow


def after(seconds: float, action: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


def answer_all(store: Store) -> None:
    for mine in claim_all(store):
        store.publish(answer(mine), source="test")


@pytest.fixture
def real(store):
    """The same store on the real clock."""
    return Store(store.place)


def long(request_id: str):
    return request(request_id, created_at=time.time_ns() // 1_000_000)


def test_an_answer_of_another_process_ends_the_wait(real):
    real.submit(long("a"))
    child = multiprocessing.get_context("fork").Process(
        target=lambda: (time.sleep(0.2), answer_all(real))
    )
    child.start()

    (response,) = real.wait(["a"], timeout_s=300)

    assert response.success
    child.join()


def test_whoever_waits_for_long_is_woken(real, monkeypatch):
    """And looks at nothing until then."""
    monkeypatch.setattr(folder_events, "_AFTER_S", 0.0)
    monkeypatch.setattr(wait, "TEND_S", 3600.0)
    real.submit(long("a"))
    timer = after(0.3, lambda: answer_all(real))

    (response,) = real.wait(["a"], timeout_s=3600)

    assert response.success
    timer.join()


def test_many_are_yielded_as_they_come(real):
    for name in "abc":
        real.submit(long(name))
    mine = {one.request_id: one for one in claim_all(real)}
    waiting = real.wait(["a", "b", "c"], timeout_s=300)

    for name in "ca":
        timer = after(0.1, lambda: real.publish(answer(mine[name]), source="t"))  # noqa: B023 - joined
        assert next(waiting).request_id == name
        timer.join()


@pytest.mark.parametrize("step_s", [86_400, -86_400], ids=["a day on", "a day back"])
def test_a_changed_wall_clock_does_not_move_the_deadline(store, step_s):
    class Real(FakeClock):
        def monotonic_s(self):
            return time.monotonic()

    moving = Real()
    waiter = Store(store.place, clock=moving)
    timer = after(0.1, lambda: moving.set_wall(step_s))
    began = time.monotonic()

    assert list(waiter.wait(["a"], timeout_s=0.3)) == []

    assert time.monotonic() - began >= 0.3
    timer.join()


def test_requests_are_tended_while_one_waits(real, monkeypatch):
    """Trouble of the tender does not end the wait."""
    monkeypatch.setattr(wait, "TEND_S", 0.02)
    real.submit(long("a"))
    tended = []

    def tend():
        tended.append(1)
        if len(tended) < 4:
            raise StateUnavailable("locked")
        answer_all(real)

    assert len(list(real.wait(["a"], timeout_s=300, tend=tend))) == 1
    assert len(tended) == 4


@pytest.mark.parametrize("what", ["removed", "replaced", "answers removed"])
def test_error_the_state_vanishes_under_a_waiter(real, monkeypatch, what):
    monkeypatch.setattr(wait, "TEND_S", 0.02)
    real.submit(long("a"))
    list(real.wait(["a"], timeout_s=0))
    state = real.place.state

    def vanish():
        if what == "answers removed":
            shutil.rmtree(state / "responses")
            return
        state.rename(state.with_name("old"))
        if what == "replaced":
            Store(real.place).submit(long("b"))

    # While it waits: the waiter itself calls it.
    with pytest.raises(StateVanished) as caught:
        list(real.wait(["a"], timeout_s=300, tend=vanish))

    assert str(caught.value) == (
        f"{state} was removed or replaced while waiting; what was asked there is lost"
    )


def test_a_planted_answer_does_not_end_the_wait(real, monkeypatch):
    monkeypatch.setattr(wait, "TEND_S", 0.02)
    real.submit(long("a"))
    planted = []

    def tend():
        """Between two looks it is planted; after the second comes the answer."""
        if planted:
            answer_all(real)
        else:
            planted.append(drop(real, "responses", "a.json", b'{"success": true}'))

    (response,) = real.wait(["a"], timeout_s=300, tend=tend)

    assert response.parsed_output == {"status": "success", "summary": "it is so"}


def test_a_wait_leaves_nothing_behind(real):
    real.submit(long("a"))
    answer_all(real)

    def held():
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    before = held()
    waiting = real.wait(["b", "a"], timeout_s=300)

    assert next(waiting).request_id == "a"
    assert held() == before
    assert list(real.wait(["b"], timeout_s=0.02)) == []
    assert held() == before


def test_the_state_directory_is_not_made_again_by_a_waiter(real):
    real.submit(long("b"))
    answer_all(real)
    real.submit(long("a"))
    wait = real.wait(["a", "b"], timeout_s=300)
    assert next(wait).request_id == "b"

    shutil.rmtree(real.place.state)

    with pytest.raises(StateVanished):
        list(wait)
    assert not path_of(real, "").exists()


@pytest.fixture
def looks(monkeypatch):
    """For what the waiters opened the state, each time."""
    seen: list[set[str]] = []
    look = wait._look

    def counted(*args):
        seen.append(set(args[-1]))
        return look(*args)

    monkeypatch.setattr(wait, "_look", counted)
    return seen


def test_the_answers_of_others_open_nothing(real, looks):
    """A thousand who wait for one answer each do not all read each answer."""

    def others():
        for number in range(20):
            drop(real, "responses", f".b.{number}.tmp", b"{}")
            drop(real, "responses", f"b{number}.json", b"{}")
            time.sleep(0.005)

    other = after(0.05, others)
    assert list(real.wait(["a"], timeout_s=0.4)) == []
    other.join()

    assert looks == []


@pytest.mark.parametrize(
    ("tick_ns", "is_seen"), [(10**18, True), (-1, False)], ids=["within", "after"]
)
def test_a_folder_is_searched_again_only_within_the_clocks_tick(
    tmp_path, monkeypatch, *, tick_ns, is_seen
):
    """The kernel stamps two files alike that come shortly after each other."""
    monkeypatch.setattr(wait, "_TICK_NS", tick_ns)
    stamp_ns = os.stat(tmp_path).st_mtime_ns
    with Folder.open(str(tmp_path)) as folder:
        watched = wait._Watched(folder)
    assert not watched.may_hold(["a"])
    (tmp_path / "a.json").touch()
    os.utime(tmp_path, ns=(stamp_ns, stamp_ns))

    assert watched.may_hold(["a"]) is is_seen


def test_an_answer_counts_although_the_time_of_its_folder_stays(real, monkeypatch):
    """Some file systems tell whole seconds, or even two of them."""
    monkeypatch.setattr(wait, "TEND_S", 0.1)
    real.submit(long("a"))
    folder = path_of(real, "responses")
    os.utime(folder, ns=(0, 0))

    def at_the_same_time():
        answer_all(real)
        os.utime(folder, ns=(0, 0))

    other = after(0.3, at_the_same_time)
    (response,) = real.wait(["a"], timeout_s=300)

    assert response.success
    other.join()


def test_costly_looks_are_rare(real, monkeypatch):
    looks = []

    def search(*_):
        looks.append(1)
        until_s = time.thread_time() + 0.02
        while time.thread_time() < until_s:
            pass
        return False

    monkeypatch.setattr(wait._Watched, "may_hold", search)

    assert list(real.wait(["a"], timeout_s=1)) == []
    assert len(looks) < 10
