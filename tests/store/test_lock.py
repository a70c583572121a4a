"""The one lock: real processes, never broken by age, never inherited."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from storeworld import FakeClock, place_in, request, store_in

from bridge.errors import StateRefused, StateUnavailable
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.host_process import name_of
from bridge.store.location import open_state
from bridge.store.lock import LockBusy, locked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.store.store import Store

HOLD = """
import sys, time
from bridge.store.directory import Folder
from bridge.store.lock import locked
with Folder.open(sys.argv[1]) as state, locked(state, wait_s=5):
    print("held", flush=True)
    {then}
"""


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Folder]:
    with open_state(place_in(tmp_path)) as opened:
        yield opened


def holder(state: Folder, then: str = "time.sleep(600)") -> subprocess.Popen[str]:
    """Another process that has the lock on return."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(then=then), state.path],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.wait()
    assert child.stdout is not None
    child.stdout.close()


def test_error_the_lock_is_held(state):
    child = holder(state)
    began = time.monotonic()

    with pytest.raises(LockBusy) as caught, locked(state, wait_s=0.1):
        pass

    assert time.monotonic() - began >= 0.1
    assert str(caught.value) == (
        f"{state.path}/locks/store.lock is held{by(child)}; waited 0.1 s. See "
        "`hostbridge doctor`"
    )
    assert caught.value.code == "timeout"
    end(child)


def by(child: subprocess.Popen[str], how: str = "") -> str:
    """How an error names a process that holds the lock."""
    if sys.platform != "linux":
        return ""
    return f" by pid {child.pid} ({name_of(child.pid)}{how})"


def test_error_a_stopped_process_holds_the_lock(state):
    """Nobody guesses why nothing goes on: the process is named, and what is wrong."""
    child = holder(state)
    child.send_signal(signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)

    with pytest.raises(LockBusy) as caught, locked(state, wait_s=0):
        pass

    assert by(child, ", stopped") in str(caught.value)
    end(child)


def test_error_the_thread_itself_holds_the_lock(state):
    """A signal handler that submits, while a submit is on, would wait for itself."""
    with locked(state, wait_s=1):
        with pytest.raises(LockBusy) as caught, locked(state, wait_s=1000):
            pass

    assert str(caught.value) == (
        f"{state.path}/locks/store.lock is held by this very thread, which was "
        "interrupted: a signal handler cannot use hostbridge in the middle of its own "
        "thread's use of it; have it set a flag, and ask afterwards"
    )
    with locked(state, wait_s=1):
        pass


def test_the_lock_of_a_killed_process_is_free(state):
    child = holder(state)
    child.send_signal(signal.SIGKILL)
    end(child)

    with locked(state, wait_s=0):
        pass


def test_an_old_lock_file_means_nothing(state):
    with state.folder("locks") as locks:
        locks.touch("store.lock")
        os.utime("store.lock", (0, 0), dir_fd=locks.fd)

    with locked(state, wait_s=0):
        pass


def test_age_does_not_break_a_lock(state):
    child = holder(state)
    os.utime(f"{state.path}/locks/store.lock", (0, 0))

    with pytest.raises(LockBusy), locked(state, wait_s=0.05):
        pass
    end(child)


def test_threads_of_one_process_exclude_each_other(state):
    with (
        locked(state, wait_s=1),
        pytest.raises(LockBusy),
        locked(state, wait_s=0.02),
    ):
        pass


def test_a_started_program_does_not_inherit_the_lock(state):
    """It could outlive the hook that started it, and hold the lock for as long."""
    then = (
        "import subprocess\n"
        "    kept = subprocess.Popen(['sleep', '600'], close_fds=False)\n"
        "    print(kept.pid, flush=True)"
    )
    child = holder(state, then)
    assert child.stdout is not None
    program = int(child.stdout.readline())
    child.wait()

    with locked(state, wait_s=0):
        pass

    os.kill(program, signal.SIGKILL)
    child.stdout.close()


def test_a_forked_child_does_not_keep_the_lock(state):
    then = "import os; pid = os.fork()\n    if pid == 0: time.sleep(600); os._exit(0)"
    child = holder(
        state, f"{then}\n    print(pid, flush=True); os.kill(os.getpid(), 9)"
    )
    assert child.stdout is not None
    grandchild = int(child.stdout.readline())
    child.wait()

    # As soon as it runs, it lets go.
    with locked(state, wait_s=60):
        pass

    os.kill(grandchild, signal.SIGKILL)
    child.stdout.close()


def test_a_forked_child_does_not_let_the_lock_go(state):
    with locked(state, wait_s=1):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        with pytest.raises(LockBusy), locked(state, wait_s=0):
            pass


@pytest.mark.parametrize("what", ["link", "fifo", "folder"])
def test_error_something_else_is_the_lock_file(state, what):
    path = f"{state.path}/locks/store.lock"
    os.mkdir(f"{state.path}/locks")
    if what == "link":
        os.symlink("/tmp/elsewhere", path)
    elif what == "fifo":
        os.mkfifo(path)
    else:
        os.mkdir(path)

    with pytest.raises(NotAPlainFile) as caught, locked(state, wait_s=0):
        pass

    assert str(caught.value) == f"{path}: not a plain file"


def test_error_the_folder_of_locks_is_a_link(state):
    os.symlink("/tmp", f"{state.path}/locks")

    with pytest.raises(StateRefused), locked(state, wait_s=0):
        pass


def test_an_error_inside_lets_go(state):
    with pytest.raises(KeyError), locked(state, wait_s=0):
        raise KeyError

    with locked(state, wait_s=0):
        pass


def test_error_no_flock_here(state, monkeypatch):
    """The kernel itself refusing is in tests/faults; this is what is said then."""

    def refuse(_fd: int) -> bool:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("bridge.store.lock._try", refuse)

    with pytest.raises(StateUnavailable) as caught, locked(state, wait_s=0):
        pass

    assert str(caught.value) == (
        f"{state.path}/locks/store.lock: cannot be locked (Operation not supported); "
        "the state directory must lie on a local file system with a working flock"
    )


REENTRY = "is held by this very thread, which was interrupted: "


def test_error_a_handler_that_interrupts_the_holder_waits_not_for_itself(state):
    """Nobody but this thread could let go of it, and it is in the handler."""
    messages: list[str] = []

    def handler(*_: object) -> None:
        with pytest.raises(LockBusy) as caught, locked(state, wait_s=1000):
            pass
        messages.append(str(caught.value))

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with locked(state, wait_s=5):
            signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert [REENTRY in words for words in messages] == [True]
    with locked(state, wait_s=5):
        pass


def test_another_thread_waits_and_hides_nothing(state):
    """It tries again and again meanwhile: the holder is still known as that."""
    got: list[bool] = []

    def wait() -> None:
        with locked(state, wait_s=600):
            got.append(True)

    with locked(state, wait_s=5):
        other = threading.Thread(target=wait)
        other.start()
        time.sleep(0.1)
        with pytest.raises(LockBusy, match=REENTRY), locked(state, wait_s=1000):
            pass
        assert got == []
    other.join()

    assert got == [True]
    with locked(state, wait_s=5):
        pass


def test_error_a_submit_in_a_handler_that_interrupts_a_submit(tmp_path):
    """As a program has it: its handler asks while it asks. The first one is kept."""
    store = store_in(tmp_path)
    messages: list[str] = []

    class Interrupted(FakeClock):
        def now_us(self) -> int:
            if not messages and lock_is_held(store):
                signal.raise_signal(signal.SIGUSR1)
            return super().now_us()

    def handler(*_: object) -> None:
        messages.append("")
        with pytest.raises(StateUnavailable) as caught:
            store_in(tmp_path, lock_wait_s=1000).submit(request("b"))
        messages.append(str(caught.value))

    store.submit(request("first"))
    store.clock = Interrupted()
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        store.submit(request("a"))
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert REENTRY in messages[1]
    assert set(store.waiting()) == {"first", "a"}


def lock_is_held(store: Store) -> bool:
    """Whether anybody has it, as another open file sees that."""
    with (store.place.state / "locks" / "store.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
