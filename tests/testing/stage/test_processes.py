"""Ending processes: all of a family, and nobody else."""

import os
import signal
import subprocess
import sys

from bridge.testing.stage.processes import Member, end, family, is_alive

# A parent with a child in a session of its own, as the client starts its tools.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


def start() -> tuple[subprocess.Popen[str], int]:
    """Start the parent; return it and its child's id."""
    words = [sys.executable, "-c", PARENT]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    return parent, int(parent.stdout.readline())


def test_a_family_ends_together():
    """A signal to the group would miss the child."""
    parent, child = start()

    members = family(parent.pid)
    end(members)

    with parent:
        assert parent.wait() == -signal.SIGKILL
    assert [each.pid for each in members] == [parent.pid, child]
    assert not is_alive(child)


def test_a_family_gets_time_to_end():
    """A client says goodbye to its hooks when it is asked to go."""
    parent, _ = start()

    end(family(parent.pid), grace_s=60)

    with parent:
        assert parent.wait() == -signal.SIGTERM


def test_a_process_with_a_used_id_is_left_alone():
    """An id may have gone to another process since it was noted."""
    end([Member(os.getpid(), "0")])

    assert is_alive(os.getpid())


def test_nobody_is_the_family_of_a_process_that_is_gone():
    """Closing twice must be harmless."""
    gone = subprocess.Popen(["true"])
    gone.wait()

    assert family(gone.pid) == []
    assert not is_alive(gone.pid)
