"""A child made by fork has no part in a lock, at whatever moment it was forked."""

import fcntl
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import FileIO
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from storeworld import is_free, request, store_in

from bridge import own_files
from bridge.engine import long_steps
from bridge.errors import StateUnavailable
from bridge.process.supervised import Supervised
from bridge.store import journal, live_runs, lock
from bridge.store.directory import Folder
from bridge.store.lock import lock_in, locked

# Python 3.12 warns of what is tried here: forks of a process that has threads.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.slow,
]

NO_ONE_ELSE_S = 60.0


@pytest.fixture
def fork_child():
    """Forks a child that runs on return, and lives until the test has ended."""
    pids = []

    def fork():
        runs, mine = os.pipe()
        pid = os.fork()
        if not pid:
            os.write(mine, b".")
            signal.pause()
            os._exit(0)
        pids.append(pid)
        os.close(mine)
        assert os.read(runs, 1) == b"."
        os.close(runs)

    yield fork
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def of_run(state: Folder) -> FileIO:
    """The lock of a run."""
    return lock_in(state, live_runs.LOCK, wait_s=NO_ONE_ELSE_S)


def of_step(state: Folder) -> FileIO:
    """The claim of a step."""
    return long_steps.claim(state, "asked")


def of_store(state: Folder) -> FileIO:
    """The store's lock."""
    return locked(state, wait_s=NO_ONE_ELSE_S)


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path: Path) -> Iterator[None]:
    """Another process has the lock."""
    path.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-S", "-c", HOLD, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as holder:
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.kill()


def open_here(path: Path) -> int:
    """How often this process has the file open."""
    wanted = path.stat()
    found = 0
    for fd in os.listdir("/dev/fd"):
        with suppress(OSError):
            found += os.path.samestat(os.fstat(int(fd)), wanted)
    return found


def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        threading.Event().wait(0.001)


LOCKS = {
    "store": (of_store, "locks/store.lock"),
    "run": (of_run, "run.lock"),
    "step": (of_step, "asked.claim"),
}


@pytest.mark.parametrize(("take", "name"), LOCKS.values(), ids=LOCKS)
def test_a_child_forked_while_a_thread_waits_keeps_no_lock(
    state, fork_child, monkeypatch, take, name
):
    """It inherits an open file; the thread locks it later, and lets go in vain."""
    monkeypatch.setattr(long_steps, "_CLAIM_S", NO_ONE_ELSE_S)
    path = Path(state.path) / name
    with held_elsewhere(path):
        waiter = threading.Thread(target=lambda: take(state).close())
        waiter.start()
        until(lambda: open_here(path) == 1)
        fork_child()
    waiter.join()

    assert is_free(path)


@pytest.mark.parametrize(("take", "name"), LOCKS.values(), ids=LOCKS)
def test_a_child_forked_under_a_lock_keeps_none(state, fork_child, take, name):
    """Also when its parent is killed in the block: only the child is left."""
    path = Path(state.path) / name
    is_held, may_go = threading.Event(), threading.Event()

    def hold():
        with take(state):
            is_held.set()
            may_go.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    fork_child()
    assert not is_free(path)
    may_go.set()
    holder.join()

    assert is_free(path)


def look_at_a_claim(state: Folder) -> None:
    """A shared lock that lived on would keep everybody from the step."""
    assert not long_steps.is_claimed(state, "asked")


def move_a_full_log(state: Folder) -> None:
    """A lock on it that lived on would keep everybody from moving it aside."""
    journal.append_line(state, "a.log", b"more", max_bytes=1, older="b.log")


@pytest.mark.parametrize(
    ("act", "name"), [(look_at_a_claim, "asked.claim"), (move_a_full_log, "b.log")]
)
def test_a_child_forked_as_one_is_taken_keeps_none(
    state, fork_child, monkeypatch, act, name
):
    of_step(state).close()
    (Path(state.path) / "a.log").write_bytes(b"full")
    real = fcntl.flock

    def flock_and_fork(file, how):
        real(file, how)
        fork_child()

    with monkeypatch.context() as forking:
        forking.setattr(fcntl, "flock", flock_and_fork)
        act(state)

    assert is_free(Path(state.path) / name)


def test_a_child_keeps_no_program_running(fork_child):
    """The program ends with its lifeline, of which the child would have a copy."""
    program = Supervised(["sleep", "600"], grace_s=NO_ONE_ELSE_S)
    fork_child()

    program.release()

    assert program.process.wait() != 0


@pytest.fixture
def at_fork():
    """What is done first when this process forks."""
    yield _at_fork
    _at_fork.clear()


_at_fork: list[Callable[[], None]] = []
os.register_at_fork(before=lambda: [do() for do in _at_fork])


def test_a_fork_waits_for_a_file_that_is_just_being_opened(state, at_fork, monkeypatch):
    """Open in the kernel, known to nobody yet: a child could not close it."""
    is_open, forks, children_s = threading.Event(), threading.Event(), []
    path = Path(state.path) / "run.lock"
    real = os.open

    def open_slowly(name, flags, *how, **where):
        fd = real(name, flags, *how, **where)
        if name == path.name:
            is_open.set()
            forks.wait()
        return fd

    def fork():
        is_open.wait()
        pid = os.fork()
        if not pid:
            os._exit(open_here(path))
        children_s.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    at_fork.append(forks.set)
    monkeypatch.setattr(os, "open", open_slowly)
    forker = threading.Thread(target=fork)
    forker.start()
    of_run(state).close()
    forker.join()

    assert children_s == [0]


class Forked:
    """Forks once, after so many steps of the lock's own code, as a handler would."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._steps = itertools.count()
        self.pid: int | None = None

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in (lock.__file__, own_files.__file__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and next(self._steps) == self._after:
            sys.settrace(None)
            self.pid = os.fork()
        return self


def test_a_child_that_a_handler_forks_shares_no_lock_with_its_parent(state):
    """It goes on where its parent was: both would believe that they are alone."""
    path = Path(state.path) / "run.lock"
    for after in itertools.count():
        forked = Forked(after)
        try:
            sys.settrace(forked)
            with lock_in(state, path.name, wait_s=NO_ONE_ELSE_S) as taken:
                sys.settrace(None)
                if forked.pid == 0:
                    # Its own, which it waited for, or it is refused here.
                    state.names()
                    os._exit(0 if not taken.closed and not is_free(path) else 1)
        except (StateUnavailable, ValueError) as exc:
            if forked.pid == 0:
                # Python itself refuses a closed file as the lock of a block.
                words = (own_files.FORKED, "I/O operation on closed file.")
                os._exit(0 if str(exc) in words else 2)
            raise
        finally:
            sys.settrace(None)
            if forked.pid == 0:
                os._exit(3)
        if forked.pid is None:
            break
        _, status = os.waitpid(forked.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, after

    assert after > 50


FORKED = repr(StateUnavailable(own_files.FORKED))


def in_child(do: Callable[[], object]) -> bytes:
    """What a child of ours has to say when it has done that."""
    said, mine = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(mine, repr(do()).encode())
        except BaseException as exc:  # noqa: BLE001 - it is what the child says
            os.write(mine, repr(exc).encode())
        finally:
            os._exit(0)
    os.close(mine)
    with open(said, "rb") as read:
        words = read.read()
    os.waitpid(pid, 0)
    return words


@pytest.mark.parametrize("generations", [1, 2])
def test_error_a_child_goes_on_with_what_its_parent_does(tmp_path, generations):
    """It has no lock: it is its parent's, or that of the parent of its parent."""
    store = store_in(tmp_path)
    store.submit(request("before"))
    act, told = partial(store.submit, request("in-child")), FORKED
    for _ in range(generations - 1):
        act, told = partial(in_child, act), repr(told.encode())

    with store.exclusive():
        said = in_child(act)

    assert said == told.encode()
    assert set(store.waiting()) == {"before"}


def test_a_child_that_has_left_the_block_asks_as_anybody(state, tmp_path):
    """A lock let go before counts for nothing, though somebody has its file."""
    store = store_in(tmp_path, lock_wait_s=NO_ONE_ELSE_S)
    let_go = of_run(state)
    let_go.close()
    pid = 0
    with suppress(KeyError), store.exclusive():
        pid = os.fork()
        if not pid:
            raise KeyError
    if not pid:
        with suppress(BaseException):
            store.submit(request("of-child"))
        os._exit(0)
    os.waitpid(pid, 0)

    assert let_go.closed
    assert set(store.waiting()) == {"of-child"}
