"""Prune: what may be thrown away, and what has to stay."""

import os
import time
from contextlib import contextmanager

import pytest
from storeworld import (
    FakeClock,
    answer,
    claim_all,
    drop,
    folders_of,
    path_of,
    request,
    this_process,
    tree,
)

from bridge.protocol.request import Request
from bridge.store import prune, sessions
from bridge.store.directory import Folder
from bridge.store.prune import Pruned
from bridge.store.sessions import Session
from bridge.store.state import State
from bridge.store.store import Store
from bridge.store.variables import Holder, read_variables, set_variables

DAY = 86_400
HOUR = 3_700


def files(store: Store) -> dict[str, bytes]:
    found = tree(store.place.state).items()
    return {name: data for name, data in found if data is not None}


def finished(store: Store, *ids: str) -> Request:
    for one in ids:
        store.submit(request(one, dedup_key=f"key of {one}"))
        (mine,) = claim_all(store)
        store.publish(answer(mine), source="test")
        store.publish(answer(mine, "late"), source="test")
    return mine


def after(store: Store, seconds: float) -> Store:
    """The same store so much later, as the real clock has it."""
    clock = FakeClock(time.time_ns() // 1000 + int(seconds * 1_000_000))
    return Store(store.place, clock=clock)


@pytest.fixture
def later(store):
    return after(store, 10 * DAY)


@pytest.fixture
def before_each_hold(monkeypatch):
    """Has something done before the lock is taken, each time."""
    hold = State.hold

    def have_done(act):
        @contextmanager
        def act_and_hold(state):
            act()
            with hold(state):
                yield

        monkeypatch.setattr(State, "hold", act_and_hold)

    return have_done


def test_where_nothing_was_asked_nothing_is_removed(store):
    assert store.prune(max_bytes=0) == Pruned()
    assert not path_of(store, "").exists()


def test_what_is_overdue_is_ended_first(store, clock):
    """Also more than one batch of it; then it goes with the rest, when it is old."""
    for number in range(102):
        store.submit(request(f"r{number}", timeout=1000))
    store.submit(request("a"))
    clock.go_on(2)

    assert store.prune(max_bytes=0).requests == 102
    assert store.waiting() == ["a"]


def test_old_requests_go_with_all_that_belongs_to_them(store, later):
    finished(store, "a", "b")
    drop(store, "requests", "odd name.json", "{")
    claim_all(store)

    assert later.prune(older_than_days=11) == Pruned()
    pruned = later.prune(older_than_days=9)

    assert pruned.freed_bytes > 1000
    assert (pruned.requests, pruned.quarantined, pruned.dedup_keys) == (2, 1, 2)
    assert set(files(store)) == {"key", "events.jsonl", "locks/store.lock"}
    assert store.submit(request("a")).is_new


def test_the_log_of_a_run_goes_with_its_request(store, later):
    """Both parts of it; what is no log of a run is none of prune's."""
    finished(store, "a")
    store.submit(request("waits"))
    with store.state() as state, state["runs"] as runs:
        for name in ("a.jsonl", "a.1.jsonl", "waits.jsonl", "flow.json"):
            runs.create(name, b"{}\n")

    assert later.prune(older_than_days=9).requests == 1

    kept = sorted(path.name for path in path_of(store, "runs").iterdir())
    assert kept == ["flow.json", "waits.jsonl"]


def test_the_answers_of_a_run_stay_as_long_as_it_is_on_record(store, later):
    """`run --resume` reads them again, whatever had to make room."""
    finished(store, "r1-a-1-1")
    finished(store, "other")
    run = path_of(store, "runs") / "r1"
    run.mkdir(parents=True)

    assert later.prune(max_bytes=0).requests == 1
    assert (path_of(store, "responses") / "r1-a-1-1.json").exists()

    # They go with the run.
    pruned = later.prune(older_than_days=-1, max_bytes=0)
    assert (pruned.requests, pruned.runs, run.exists()) == (1, 1, False)


def test_unfinished_requests_stay(store, later):
    store.submit(request("claimed", dedup_key="c"))
    claim_all(store)
    store.submit(request("waiting", dedup_key="w"))
    store.keep_evidence("claimed", reason="r", source="s", words="w")
    before = files(store)

    assert later.prune(older_than_days=0, max_bytes=0) == Pruned()

    assert files(store) == before


def test_the_oldest_go_until_the_rest_fits(store):
    for name in "abc":
        finished(store, name)
        time.sleep(0.02)
    sizes = sum(
        p.stat().st_size
        for folder in ("done", "responses", "evidence")
        for p in path_of(store, folder).iterdir()
    )

    assert store.prune(max_bytes=sizes).requests == 0
    assert store.prune(max_bytes=sizes - 1).requests == 1

    assert folders_of(store, "a") == []
    assert folders_of(store, "b") == ["done"]


def test_left_over_temporaries_go_after_an_hour(store):
    """A folder that has the name of one is none."""
    with store.state() as state, state["requests"] as queue:
        queue.prepare("a.json", b"half a request")
        state.directory.prepare("key", b"half a key")
    folder = path_of(store, "requests") / ".mine.tmp"
    folder.mkdir()

    assert after(store, 0).prune().temporaries == 0
    assert after(store, HOUR).prune().temporaries == 2
    assert folder.is_dir()


def test_folders_and_links_in_place_of_files_go_too(store, later, tmp_path):
    finished(store, "a")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    done = path_of(store, "done")
    (done / "folder.json").mkdir()
    (done / "folder.json" / "inner").write_text("x")
    (done / "link.json").symlink_to(tmp_path / "precious")
    (done / "folder.json" / "link").symlink_to(tmp_path / "precious")

    later.prune(older_than_days=1)

    assert os.listdir(done) == []
    assert (tmp_path / "precious" / "file").read_text() == "mine"


def test_hooks_get_the_lock_between(store, before_each_hold, monkeypatch):
    """Ten thousand keys in one go took all the time that a hook waits for the lock."""
    with store.state() as state:
        for number in range(25):
            state["dedup"].create(f"{number}.json", b"{}")
        for _ in range(25):
            state.directory.prepare("x", b"left over")
    removed: list[int] = []
    remove = Folder.remove

    def counted_remove(folder, name):
        removed[-1] += 1
        return remove(folder, name)

    monkeypatch.setattr(prune, "BATCH", 10)
    monkeypatch.setattr(Folder, "remove", counted_remove)
    before_each_hold(lambda: removed.append(0))

    pruned = after(store, HOUR).prune()

    assert (pruned.dedup_keys, pruned.temporaries) == (25, 25)
    assert max(removed) == 10


def test_a_request_that_lives_again_meanwhile_stays(store, later, before_each_hold):
    """What was looked up without the lock is looked at again with it."""
    finished(store, "a", "b")
    before_each_hold(lambda: drop(store, "requests", "a.json", "{}"))

    assert later.prune(older_than_days=9).requests == 1

    assert folders_of(store, "a") == ["requests", "done"]
    assert folders_of(store, "b") == []


def test_a_key_that_a_new_request_has_meanwhile_stays(store, later, before_each_hold):
    finished(store, "a")
    asked = []

    def ask_first():
        if not asked and not path_of(store, "done", "a").exists():
            asked.append("b")
            store.submit(request("b", dedup_key="key of a"))

    before_each_hold(ask_first)

    assert later.prune(older_than_days=1).dedup_keys == 0

    assert asked
    assert not store.submit(request("c", dedup_key="key of a")).is_new


def test_variables_and_what_was_used_stay_for_a_month_without_change(store):
    """A session may be resumed, and goes on counting."""
    set_variables(store, Holder.session("s-1"), {"a": 1}, "rule")
    session = Session(
        session_id="s-1", host=this_process(), registered_at=1, spent={"agents": 3}
    )
    sessions.save(store, session)
    sessions.remove(store, session)

    def left_after(days):
        after(store, days * DAY).prune(older_than_days=1)
        variables = read_variables(store, Holder.session("s-1"))
        return bool(variables), sessions.same_id(store, "s-1")

    has_variables, kept = left_after(29)
    assert (has_variables, kept.spending.agents) == (True, 3)
    assert left_after(31) == (False, None)


def test_prune_by_size_counts_only_what_it_may_remove(store):
    """A live request with much evidence pushed finished ones out."""
    finished(store, "a")
    store.submit(request("b"))
    store.keep_evidence("b", reason="r", source="test", words="x" * 100_000)

    assert store.prune(max_bytes=50_000).requests == 0

    assert folders_of(store, "a") == ["done"]


def test_a_request_is_as_old_as_its_newest_file(store):
    old = finished(store, "a")
    time.sleep(0.02)
    finished(store, "b")
    time.sleep(0.02)
    store.publish(answer(old, "late " * 400), source="test")
    size = sum(p.stat().st_size for p in store.place.state.rglob("a.*"))

    store.prune(max_bytes=size)

    assert (folders_of(store, "a"), folders_of(store, "b")) == (["done"], [])
