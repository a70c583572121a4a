"""Tasks under kills and errors at every system call, and by two at once.

Each time: the tasks as they were before or as they are after, and nothing between; who
opens them next completes that.
"""

import multiprocessing
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from faultlab import Operation, prepared, tell
from storeworld import FakeClock, store_in
from thoroughness import rounds

from bridge.store.host_process import identify
from bridge.store.store import Store
from bridge.tasks.task import Holder, NewTask, Status
from bridge.tasks.tasks import Tasks

pytestmark = pytest.mark.faults

ME = Holder("me")
ERRORS = {
    "openat": ("EMFILE", "ENOSPC", "EIO"),
    "pwrite64": ("ENOSPC", "EIO", "EDQUOT"),
    "pread64": ("EIO",),
    "fsync": ("EIO", "ENOSPC"),
    "fdatasync": ("EIO", "ENOSPC"),
    "ftruncate": ("EIO",),
    "unlink": ("EIO", "EROFS"),
    "fcntl": ("EIO", "ENOLCK"),
}
# So many of one call and error: the first ones tell the most.
MOST = 12


def one(store: Store) -> None:
    Tasks(store).create_all([NewTask("epic"), NewTask("part", parent=1)])


def held(store: Store) -> None:
    one(store)
    Tasks(store).claim(2, ME)


def exported(store: Store) -> bytes:
    """What another place has, which has changed one of these and added one."""
    there = Tasks(store_in(store.place.guard.parent / "there", clock=FakeClock()))
    if there.database.exists():
        return there.export()
    there.import_(Tasks(store).export())
    there.close(2, reason="done there")
    there.create("more", parent=1, depends_on=2)
    return there.export()


def before_import(store: Store) -> None:
    one(store)
    exported(store)


def create(store: Store) -> object:
    return Tasks(store).create("new", parent=1, depends_on=2).number


def create_first(store: Store) -> object:
    return Tasks(store).create("new").number


def claim(store: Store) -> object:
    return Tasks(store).claim(2, ME).number


def close(store: Store) -> object:
    return Tasks(store).close(2, reason="done").number


def import_(store: Store) -> object:
    return Tasks(store).import_(exported(store)).conflicts


OPERATIONS = [
    Operation("create", one, create),
    Operation("first create", lambda _: None, create_first),
    Operation("claim", one, claim),
    Operation("close", held, close),
    Operation("import", before_import, import_),
]


def check_integrity(connection: sqlite3.Connection) -> None:
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def facts(store: Store) -> list[Any]:
    """Everything that is there; reading it also undoes what was begun."""
    tasks = Tasks(store)
    with tasks.database.read() as connection:
        check_integrity(connection)
        holders = connection.execute("SELECT task FROM claims").fetchall()
    found = [task._replace(uuid="", created_ms=0, updated_ms=0, closed_ms=0)
             for task in tasks.list()]  # fmt: skip
    return [found, holders]


def check(state: Any, store: Store, outcome: Any, ends: list[Any], place: Any) -> None:
    before, after = ends
    found = facts(store)
    assert found in (before, after), place
    if outcome.status == "returned":
        assert found == after, place
    operation = state.operation
    if found == before:
        operation.act(store)
        assert facts(store) == after, place
    elif operation.act not in (create, create_first):
        operation.act(store)
        assert facts(store) == after, (place, "once more")
    Tasks(store).create("another")
    # A journal that says nothing stays until somebody writes.
    assert not list(store.place.state.glob("tasks.db-*")), place


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_a_kill_or_an_error_at_any_call_leaves_all_or_nothing(operation):
    """A full disk, too many files, a bad disk: an error of ours that names the file."""
    with prepared(operation) as state:
        ends = [facts(state.fresh()), facts(state.whole())]
        for fault, store, outcome in state.faults(ERRORS, MOST):
            if outcome.status == "raised":
                message = outcome.message
                assert "/srv/app/@" in message or "/home" in message, fault
            check(state, store, outcome, ends, fault)
    tell(f"{operation.name}: {state.cases} faults")


def test_a_killed_transaction_is_undone_by_the_next_reader(tmp_path):
    """Its journal is hot: it holds what the file said before."""
    store = store_in(tmp_path)
    tasks = Tasks(store)
    tasks.create_all([NewTask(f"task {n}" * 50) for n in range(2000)])
    before = tasks.export()
    ready, told = os.pipe()

    def change_and_hang():
        with closing(sqlite3.connect(tasks.database.path)) as connection:
            # Too little room for the changes: they are written before the commit.
            connection.execute("PRAGMA cache_size = 5")
            connection.execute("UPDATE tasks SET title = 'half'")
            os.write(told, b"!")
            time.sleep(600)

    child = multiprocessing.get_context("fork").Process(target=change_and_hang)
    child.start()
    os.read(ready, 1)
    child.kill()
    child.join()
    assert store.place.state.joinpath("tasks.db-journal").stat().st_size > 1_000
    assert b"half" in tasks.database.path.read_bytes()

    assert tasks.export() == before
    assert not store.place.state.joinpath("tasks.db-journal").exists()


def _claim_all(folder: Path, name: str, start: Any, won: Any) -> None:
    tasks = Tasks(store_in(folder, lock_wait_s=60), Holder(name, identify(os.getpid())))
    mine = []
    start.wait()
    while task := tasks.claim_next():
        mine.append(task.number)
    won.put((name, mine))
    # Until the other is done: the claims of whoever is gone are taken back.
    won.join()


@pytest.mark.slow
def test_two_who_claim_many_at_once_share_them(tmp_path):
    folder, count = tmp_path / "tasks", rounds(1000)
    tasks = Tasks(store_in(folder))
    tasks.create_all([NewTask(f"task {n}") for n in range(count)])
    fork = multiprocessing.get_context("fork")
    start, won = fork.Barrier(2), fork.JoinableQueue()
    pair = [
        fork.Process(target=_claim_all, args=(folder, name, start, won))
        for name in "ab"
    ]
    for each in pair:
        each.start()

    first, second = won.get(timeout=300), won.get(timeout=300)

    assert sorted([*first[1], *second[1]]) == [*range(1, count + 1)]
    assert {task.status for task in tasks.list()} == {Status.IN_PROGRESS}
    for name, numbers in (first, second):
        assert [t.number for t in tasks.list(assignee=name)] == numbers
    for _ in pair:
        won.task_done()
    for each in pair:
        each.join()
    assert len(tasks.ready()) == count, "they are gone"
