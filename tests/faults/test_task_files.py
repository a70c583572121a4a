"""A file of tasks that is locked, newer, damaged or none is named, and left."""

import re
import resource
import signal
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from fcntl import LOCK_EX, LOCK_UN, flock
from functools import partial
from pathlib import Path

import needs
import pytest
from gitworld import git
from polling import wait_until
from storeworld import put_odd, store_in
from systemcalls import together

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.errors import NewerSchema, StateRefused
from bridge.store import lock
from bridge.tasks.database import TasksBusy, TasksDamaged
from bridge.tasks.schema import APPLICATION_ID, STEPS
from bridge.tasks.task import NewTask, Status
from bridge.tasks.tasks import Tasks

_HOLD = """
import sqlite3, sys, time
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(600)
"""


@contextmanager
def locked(path: Path):
    """Another program that holds the lock, and its pid."""
    with subprocess.Popen(
        [needs.tool("python3"), "-c", _HOLD, str(path)], stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.parametrize("verb", ["list", "create"])
def test_a_lock_is_waited_for_only_so_long(tmp_path, verb):
    tasks = Tasks(store_in(tmp_path, lock_wait_s=0.3))
    tasks.create("one")
    act = tasks.list if verb == "list" else partial(tasks.create, "two")

    with locked(tasks.database.path) as pid, pytest.raises(TasksBusy) as busy:
        act()

    path = tasks.database.path
    assert str(busy.value) == (
        f"{path} is in use by pid {pid} (python3); waited 0.3 s. What to do: try "
        "again; end that program, if it hangs"
    )
    act()


def test_a_newer_version_is_refused_and_not_touched(tmp_path):
    tasks = Tasks(store_in(tmp_path))
    tasks.create("one")
    newer = len(STEPS) + 1
    with closing(sqlite3.connect(tasks.database.path)) as connection:
        connection.execute(f"PRAGMA user_version = {newer}")
    path = tasks.database.path
    before = path.read_bytes(), path.stat().st_mtime_ns

    for act in (tasks.list, partial(tasks.create, "two"), partial(tasks.import_, b"")):
        with pytest.raises(NewerSchema) as refused:
            act()
        assert str(refused.value) == (
            f"{path}: version {newer} is newer than {len(STEPS)}, the newest this "
            "hostbridge reads; update hostbridge"
        )

    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@pytest.mark.parametrize("taken", range(len(STEPS)))
def test_an_older_version_takes_the_steps_it_lacks(tmp_path, taken):
    """Also an empty file, which a kill has left."""
    store = store_in(tmp_path)
    with store.state():
        path = store.place.state / "tasks.db"
    with closing(sqlite3.connect(path)) as connection:
        for step in STEPS[:taken]:
            connection.executescript(step)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {taken}")

    tasks = Tasks(store)
    assert tasks.list() == []
    assert tasks.create("one").number == 1
    with tasks.database.read() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)


DAMAGE = {
    "other bytes": lambda data: b"no database at all " * 500,  # noqa: ARG005
    "cut": lambda data: data[: len(data) // 2],
    "a page of zeros": lambda data: data[:4096] + bytes(4096 * 4) + data[4096 * 5 :],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_named_and_left(tmp_path, damage):
    tasks = Tasks(store_in(tmp_path))
    tasks.create_all([NewTask(f"task {n}") for n in range(300)])
    path = tasks.database.path
    path.write_bytes(damage(path.read_bytes()))
    before = path.read_bytes()

    with pytest.raises(TasksDamaged) as refused:
        tasks.list()

    assert str(path) in str(refused.value)
    assert "hostbridge task import" in str(refused.value)
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_refused(tmp_path):
    tasks = Tasks(store_in(tmp_path))
    tasks.create("one")
    path = tasks.database.path
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 7")

    with pytest.raises(TasksDamaged, match="a database, but not one of hostbridge's"):
        tasks.list()


@pytest.mark.parametrize("name", ["tasks.db", "tasks.db-journal"])
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_what_is_no_plain_file_is_refused(tmp_path, name, kind):
    store = store_in(tmp_path)
    tasks = Tasks(store)
    if name != "tasks.db":
        tasks.create("one")
    target = tmp_path / "mine"
    target.write_text("mine")
    with store.state():
        pass
    wrong = store.place.state / name
    put_odd(wrong, kind, target)

    for act in (tasks.list, partial(tasks.create, "two")):
        with pytest.raises(StateRefused) as refused:
            act()
        assert str(refused.value) == f"{wrong}: not a plain file; move it away"
    assert target.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_those_who_write_take_turns(tmp_path):
    """SQLite lets one that polls wait in vain, for as long as others come."""
    store = store_in(tmp_path)
    tasks = Tasks(store)
    tasks.create("first")
    path = store.place.state / "locks/tasks.db.lock"
    with path.open() as held, ThreadPoolExecutor(40) as pool:
        flock(held, LOCK_EX)
        asked = []
        for number in range(40):
            asked.append(pool.submit(tasks.create, f"{number}"))
            wait_until(lambda: len(lock._waiting) == len(asked))
        late = Tasks(store.until(store.clock.monotonic_s() + 0.3))
        with pytest.raises(TasksBusy) as busy:
            late.create("late")
        flock(held, LOCK_UN)

    assert [each.result().number for each in asked] == [*range(2, 42)]
    # Its own patience, and not the store's.
    assert re.search(r"waited 0\.\d+ s", str(busy.value))
    assert str(busy.value).endswith("try again; end that program, if it hangs")


def test_threads_share_the_tasks(tmp_path):
    """A file that one thread closes does not drop the locks of another."""
    tasks = Tasks(store_in(tmp_path, lock_wait_s=60))
    tasks.create("epic")

    def add(n):
        tasks.list()
        return tasks.create(f"task {n}", parent=1).number

    with ThreadPoolExecutor(8) as pool:
        numbers = [*pool.map(add, range(100))]
    assert sorted(numbers) == [*range(2, 102)]
    assert tasks.get(1).children == 100


def test_what_git_does_loses_no_task(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init")
    project.joinpath("a").write_text("a")
    git(project, "add", "a")
    git(project, "commit", "-m", "a")
    settings = Settings(home=tmp_path / "home", claude_dir=tmp_path / "none")
    tasks = Bridge(settings, project).tasks
    tasks.create("one")
    before = tasks.export()

    git(project, "clean", "-fdx")
    git(project, "checkout", "-b", "other")
    assert Bridge(settings, project).tasks.export() == before
    git(project, "worktree", "add", str(tmp_path / "linked"))
    there = Bridge(settings, tmp_path / "linked").tasks
    assert there.export() == before
    there.close(1)
    assert tasks.get(1).status is Status.CLOSED


def test_prune_leaves_tasks(tmp_path):
    store = store_in(tmp_path)
    tasks = Tasks(store)
    tasks.create("one")
    tasks.close(1)

    store.prune(older_than_days=0)

    assert tasks.get(1).status is Status.CLOSED


def test_a_full_disk_is_named(tmp_path):
    """By the limit of a process, as a quota has it."""
    tasks = Tasks(store_in(tmp_path))
    tasks.create("one")
    path = tasks.database.path

    def limits():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size,) * 2)

    more = partial(tasks.create, "two", description="x" * 100_000)
    (outcome,) = together([more], limits)

    assert (outcome.status, outcome.is_ours) == ("raised", True)
    assert outcome.message.startswith(f"StateUnavailable: {path}")
    assert len(tasks.list()) == 1
