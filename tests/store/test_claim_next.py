"""Walking along a queue: what is not for one's session keeps nothing from it."""

import json
import multiprocessing
import threading
from types import SimpleNamespace

import pytest
from storeworld import (
    START_US,
    claim_all,
    claimant,
    drop,
    path_of,
    request,
    store_in,
    take,
)

from bridge.protocol.ids import new_request_id
from bridge.protocol.request import Request
from bridge.store import lock
from bridge.store.claim_next import _MAX_ENDED, _MAX_LOOKED, FEW
from bridge.store.lock import LockBusy
from bridge.store.store import Store

pytestmark = pytest.mark.slow

MANY = _MAX_LOOKED + 100
MINE = new_request_id(START_US + MANY)


def crowd(store: Store, count: int = MANY, **fields: object) -> list[str]:
    """Requests that come before `MINE`, put there as another program would."""
    ids = [new_request_id(START_US + number) for number in range(count)]
    for one in ids:
        drop(store, "requests", f"{one}.json", request(one, **fields).to_json())
    return list(ids)


def mine_only(asked: Request) -> str:
    """A session's judge: what is for another is passed over."""
    return "take" if asked.session in (None, "session-1") else "pass"


def claimed(store, judge=mine_only, most=10_000, **how: object) -> list[str]:
    session = how.pop("session", "session-1")
    taken = store.claim(claimant(session=session), most, judge, **how)
    return [one.request_id for one in taken]


def test_a_crowd_for_another_session_keeps_nothing_from_mine(store):
    """They wait until they expire: all others would wait as long."""
    ids = crowd(store, session="gone")
    store.submit(request(MINE))

    assert claimed(store) == [MINE]
    assert store.waiting() == ids


def test_what_was_passed_over_is_not_read_each_time(store):
    ids = crowd(store, session="gone")
    claimed(store)
    passed = path_of(store, "sessions") / "session-1.passed"
    assert passed.read_text().splitlines() == [f"{one} other" for one in ids]

    store.submit(request(MINE))
    seen = []

    def judge(asked):
        seen.append(asked.request_id)
        return mine_only(asked)

    assert claimed(store, judge) == [MINE]
    assert seen == [MINE, *ids[:FEW]]


def test_what_was_passed_over_by_one_session_is_there_for_another(store):
    ids = crowd(store, session="session-2")
    claimed(store)

    assert claimed(store, take, 3, session="session-2") == ids[:3]


def test_a_crowd_of_one_session_hides_no_hand_dropped_file_of_another(store):
    """Neither does the order that was remembered of the queue."""
    for number in range(MANY):
        asked = request(f"b{number}", session="gone")
        drop(store, "requests", f"b{number}.json", asked.to_json())
    crowd(store, 40)
    claimed(store, lambda _: "pass")

    drop(store, "requests", "a.json", request("a", priority="high").to_json())

    assert claimed(store, take, 1, session="session-2") == ["a"]


@pytest.mark.parametrize(
    "names",
    [
        [f"b{number}" for number in range(MANY)],
        [new_request_id(START_US + number) for number in range(MANY)],
    ],
    ids=["foreign", "our own kind"],
)
def test_a_crowd_of_a_newer_version_is_read_once_and_stays(store, names):
    for name in names:
        newer = json.dumps({"requestId": name, "schemaVersion": 2})
        drop(store, "requests", f"{name}.json", newer)
    drop(store, "requests", "zz.json", request("zz").to_json())

    assert claimed(store) == ["zz"]

    passed = path_of(store, "sessions") / "session-1.passed"
    assert sorted(passed.read_text().splitlines()) == [
        f"{n} newer" for n in sorted(names)
    ]
    assert len(list(path_of(store, "requests").iterdir())) == MANY


def test_what_was_passed_over_is_looked_at_again_in_turn(store):
    """Somebody may have changed the file, or updated hostbridge."""
    ids = crowd(store, session="gone")
    assert claimed(store) == []

    for one in ids:
        drop(store, "requests", f"{one}.json", request(one).to_json())

    assert claimed(store) == ids[:FEW]
    assert claimed(store) == ids[FEW : 2 * FEW]


def test_what_is_left_for_another_time_keeps_its_place(store):
    """A budget that is used up holds for all; the oldest is still the first."""
    ids = crowd(store)

    assert claimed(store, lambda _: "leave") == []

    assert claimed(store) == ids


def test_overdue_requests_keep_nothing_from_mine(store, clock):
    crowd(store, 3 * _MAX_ENDED, timeout=1000)
    store.submit(request(MINE))
    clock.go_on(2)

    assert claimed(store) == [MINE]


def test_a_request_of_an_agent_is_found_behind_a_crowd_of_urgent_ones(store):
    """Its parent waits for it, and holds the slot that they wait for."""
    store.submit(request("parent"))
    claim_all(store)
    for number in range(MANY):
        urgent = new_request_id(START_US + number, "high")
        asked = request(urgent, priority="high")
        drop(store, "requests", f"{urgent}.json", asked.to_json())
    child = new_request_id(START_US + MANY, "high")
    store.submit(request(child, priority="high", depth=1))

    assert claimed(store, take, 1) == [child]


@pytest.fixture
def slow_judge(clock):
    """A judge that takes 2 ms."""

    def judge(asked):
        clock.go_on(0.002)
        return mine_only(asked)

    return judge


def test_when_the_time_is_up_the_next_claim_goes_on(store, slow_judge):
    crowd(store, session="gone")
    store.submit(request(MINE))
    cut: list[str] = []

    first = claimed(store, slow_judge, on_cut=lambda: cut.append("first"))
    second = claimed(store, slow_judge, on_cut=lambda: cut.append("second"))

    assert (first, second, cut) == ([], [MINE], ["first"])


def test_where_nothing_can_be_remembered_a_claim_ends_all_the_same(store, slow_judge):
    """It would be cut short each time: whoever goes on then goes on for ever."""
    crowd(store, session="gone")
    (path_of(store, "sessions") / "session-1.passed").mkdir(parents=True)
    cut: list[str] = []

    assert claimed(store, slow_judge, on_cut=lambda: cut.append("?")) == []

    assert cut == []


@pytest.mark.parametrize("content", [b"", b"\xff\n", b"../x other\n", b"a\nb because"])
def test_a_spoilt_memory_costs_time_only(store, content):
    crowd(store, 5, session="gone")
    drop(store, "sessions", "session-1.passed", content)
    store.submit(request(MINE))

    assert claimed(store) == [MINE]


def test_one_request_is_taken_by_name_behind_a_crowd(store):
    ids = crowd(store)
    store.submit(request(MINE))

    assert claimed(store, only=MINE) == [MINE]
    assert store.claim_one(ids[-1], claimant())
    assert claimed(store, only=MINE) == []
    assert claimed(store, lambda _: "pass", only="none") == []


@pytest.fixture
def turn_until(monkeypatch):
    """Makes each turn of the others last until something has happened in it."""

    def last_until(wait):
        def sleep(seconds):
            # They look for the lock so often; how soon they run is up to the system.
            assert seconds > lock._POLL_S
            assert wait(60)

        monkeypatch.setattr("bridge.store.state.time", SimpleNamespace(sleep=sleep))

    return last_until


def test_others_get_the_lock_during_a_long_claim(tmp_path, turn_until):
    """They look for it every 2 ms: it has to be free for as long."""
    store = store_in(tmp_path, lock_wait_s=60)
    crowd(store, 2 * _MAX_LOOKED, session="gone")
    fork = multiprocessing.get_context("fork")
    is_going_on, is_submitted = fork.Event(), fork.Event()
    turn_until(is_submitted.wait)

    def submit():
        is_going_on.wait()
        store_in(tmp_path, lock_wait_s=60).submit(request(MINE))
        is_submitted.set()

    def judge(asked):
        is_going_on.set()
        return mine_only(asked)

    other = fork.Process(target=submit)
    other.start()
    claimed(store, judge)
    was_submitted = is_submitted.is_set()
    other.join()

    assert was_submitted


def test_what_was_taken_is_the_claimants_though_the_lock_is_lost(tmp_path, turn_until):
    """Somebody takes it between two steps, and keeps it."""
    store = store_in(tmp_path, lock_wait_s=0.1)
    first = new_request_id(START_US - 1)
    store.submit(request(first))
    crowd(store, 3 * _MAX_LOOKED, session="gone")
    is_going_on, is_over = threading.Event(), threading.Event()
    is_held = threading.Event()
    turn_until(is_held.wait)

    def judge(asked):
        is_going_on.set()
        return mine_only(asked)

    def hold_on():
        is_going_on.wait()
        with store_in(tmp_path, lock_wait_s=60).exclusive():
            is_held.set()
            is_over.wait()

    other = threading.Thread(target=hold_on)
    other.start()
    cut: list[str] = []
    taken = claimed(store, judge, on_cut=lambda: cut.append("cut"))
    is_over.set()
    other.join()

    assert (taken, cut) == ([first], ["cut"])
    with pytest.raises(LockBusy), store.exclusive():
        claimed(store)
