"""The one lock: real processes, never broken by age, never inherited."""

import dis
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest
from polling import wait_until
from storeworld import FakeClock, is_free, path_of, place_in, request, store_in

from bridge import own_files
from bridge.errors import StateUnavailable
from bridge.store import lock
from bridge.store.directory import Folder
from bridge.store.host_process import name_of
from bridge.store.location import open_state
from bridge.store.lock import LockBusy, locked

HOLD = """
import sys, time
from bridge.store.directory import Folder
from bridge.store.lock import locked
with Folder.open(sys.argv[1]) as state, locked(state, wait_s=5):
    print("held", flush=True)
    {then}
"""


def holder(state: Folder, then: str = "time.sleep(600)") -> subprocess.Popen[str]:
    """Another process that has the lock on return."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(then=then), state.path],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "held\n"
    return child


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.wait()
    child.stdout.close()


def test_error_the_lock_is_held(state):
    """However old its file is; once its process is killed it is free."""
    child = holder(state)
    os.utime(f"{state.path}/locks/store.lock", (0, 0))
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
    with locked(state, wait_s=0):
        pass


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


def test_a_started_program_does_not_inherit_the_lock(state):
    """It could outlive the hook that started it, and hold the lock for as long."""
    then = (
        "import subprocess\n"
        "    kept = subprocess.Popen(['sleep', '600'], close_fds=False)\n"
        "    print(kept.pid, flush=True)"
    )
    child = holder(state, then)
    program = int(child.stdout.readline())
    child.wait()

    with locked(state, wait_s=0):
        pass

    os.kill(program, signal.SIGKILL)
    child.stdout.close()


def test_an_error_inside_lets_go(state):
    with pytest.raises(KeyError), locked(state, wait_s=0):
        raise KeyError

    with locked(state, wait_s=0):
        pass


def test_error_no_flock_here(state, monkeypatch):
    """The kernel itself refusing is in tests/faults; this is what is said then."""

    def refuse(_fd):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("bridge.store.lock._try", refuse)

    with pytest.raises(StateUnavailable) as caught, locked(state, wait_s=0):
        pass

    assert str(caught.value) == (
        f"{state.path}/locks/store.lock: cannot be locked (Operation not supported); "
        "the state directory must lie on a local file system with a working flock"
    )


REENTRY = (
    "is held by this very thread, which was interrupted: a signal handler cannot use "
    "hostbridge in the middle of its own thread's use of it; have it set a flag, and "
    "ask afterwards"
)


def test_error_the_thread_itself_holds_the_lock(state):
    """A handler would wait for itself; a thread that waits meanwhile hides nothing."""
    got: list[bool] = []

    def wait():
        with locked(state, wait_s=600):
            got.append(True)

    with locked(state, wait_s=5):
        other = threading.Thread(target=wait)
        other.start()
        time.sleep(0.1)
        with pytest.raises(LockBusy) as caught, locked(state, wait_s=1000):
            pass
        assert got == []
    other.join()

    assert got == [True]
    assert str(caught.value) == f"{state.path}/locks/store.lock {REENTRY}"
    with locked(state, wait_s=5):
        pass


def test_threads_get_the_lock_in_the_order_in_which_they_came(state):
    """One that polls may be unlucky for as long as others come, until it gives up."""
    got: list[int] = []

    def take(number: int) -> None:
        with locked(state, wait_s=600):
            got.append(number)

    threads = [threading.Thread(target=take, args=[number]) for number in range(40)]
    with locked(state, wait_s=5):
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until(lambda number=number: len(lock._waiting) == number)
        with ThreadPoolExecutor() as pool, pytest.raises(LockBusy) as caught:
            pool.submit(locked, state, wait_s=0).result()
    for thread in threads:
        thread.join()

    assert got == [*range(40)]
    # Found without looking through what all processes have open.
    assert f" is held by pid {os.getpid()} (" in str(caught.value)


def test_error_a_submit_in_a_handler_that_interrupts_a_submit(tmp_path):
    """As a program has it: its handler asks while it asks. The first one is kept."""
    store = store_in(tmp_path)
    messages: list[str] = []

    class Interrupted(FakeClock):
        def now_us(self):
            if not messages and not is_free(path_of(store, "locks/store.lock")):
                signal.raise_signal(signal.SIGUSR1)
            return super().now_us()

    def handler(*_):
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


# The lock is free again after an interrupt, at whatever moment it comes


# After these Python runs the handlers of signals that have come.
HANDLED_AFTER = ("RESUME", "CALL", "JUMP_BACKWARD")


class Interrupt(BaseException):
    pass


def interrupted(state: Folder, after: int) -> bool:
    """Take the lock, and be interrupted at that moment; False if it has fewer."""
    moments = itertools.count()
    # By the frame's id: a frame that is kept keeps its files.
    last: dict[int, str] = {}

    def trace(frame, event, _):
        if frame.f_code.co_filename not in (lock.__file__, own_files.__file__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            is_due = last.get(id(frame), "").startswith(HANDLED_AFTER)
            last[id(frame)] = name
            if is_due and next(moments) == after:
                raise Interrupt
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        with lock.locked(state, wait_s=0):
            pass
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


# Python says so of a file that nobody closed.
@pytest.mark.filterwarnings("ignore")
def test_an_interrupt_at_any_moment_leaves_the_lock_free(tmp_path):
    """Otherwise, a program that goes on after Ctrl-C could never ask again."""
    after = itertools.count()
    with open_state(place_in(tmp_path)) as state:
        while interrupted(state, next(after)):
            with lock.locked(state, wait_s=0):
                pass
        another = Thread(target=lock.locked, args=[state], kwargs={"wait_s": 0})
        another.start()
        another.join(60)

    assert not another.is_alive()
    assert next(after) > 20
