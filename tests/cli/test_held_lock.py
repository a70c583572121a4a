"""A stopped process holds the store's lock: every command ends by its deadline (P4)."""

import os
import re
import signal
import subprocess
import sys

import pytest
from storeworld import FakeClock

from bridge.store.store import Store

pytestmark = pytest.mark.slow

HOLD = """
import os, signal, sys
from bridge.store.directory import Folder
from bridge.store.lock import locked
with Folder.open(sys.argv[1]) as state, locked(state, wait_s=5):
    print("held", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def waits(project):
    """A request that waits."""
    return project.submit()


@pytest.fixture
def holder(project, waits, host):  # noqa: ARG001 - there before
    """The pid of a stopped process that has the lock."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(project.state)], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    os.waitpid(child.pid, os.WUNTRACED)
    yield child.pid
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()


# What is said, and the seconds that the lock is waited for at most; 0 for not at all.
COMMANDS = {
    "ask": (["ask", "Which?", "--timeout", "0.5"], 5, "nothing was asked: ", 0.5),
    "ask claude": (
        ["ask", "x", "--route", "claude", "--timeout", "0.5"], 5,
        "nothing was asked: ", 0.5,
    ),
    "submit": (["submit", "x", "--timeout", "0.5"], 5, "nothing was asked: ", 0.5),
    "wait": (["wait", "ID", "--timeout", "0.5"], 5, "no answer within 0.5 s", 0),
    # The end of a request is written without it.
    "cancel": (["cancel", "ID"], 0, "", 0),
    "status": (["status"], 0, "", 0),
    "show": (["show", "ID"], 0, "", 0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "said", "most_s"), COMMANDS.values(), ids=COMMANDS
)
def test_no_command_waits_longer_than_its_caller(
    project, waits, holder, words, code, said, most_s
):
    """And who holds the lock is said."""
    project.env["BRIDGE_CLAUDE"] = sys.executable

    ran = project.run(*(waits if word == "ID" else word for word in words))

    assert (ran.code, said in ran.err) == (code, True), ran
    if most_s:
        named = f" by pid {holder} (" if sys.platform == "linux" else ""
        assert f"{project.state}/locks/store.lock is held{named}" in ran.err
        waited = re.search(r"waited ([0-9.]+) s", ran.err)
        assert waited is not None
        assert float(waited[1]) <= most_s
        assert ", stopped); waited" in ran.err or sys.platform != "linux"


def test_a_store_has_a_deadline(project):
    """Each wait for the lock gets all that is left, and never less than a moment."""
    store = Store(project.bridge.store.place, clock=FakeClock())
    now_s = store.clock.monotonic_s()

    def wait_s(left_s: float) -> float:
        with store.until(now_s + left_s).state() as state:
            return state.lock_wait_s

    assert [wait_s(left_s) for left_s in (-3, 3, 300)] == [0.2, 3, 300]
