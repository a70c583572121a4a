"""Processes: which one it is, and whether it still runs."""

import os
import signal
import subprocess
import sys

import pytest
from polling import wait_until
from storeworld import dead_process, this_process

from bridge.store.host_process import Liveness, identify, liveness, name_of


def test_a_running_process_is_alive_and_a_dead_one_gone():
    assert liveness(this_process()) is Liveness.ALIVE
    assert liveness(dead_process()) is Liveness.GONE
    assert identify(2**22 + 1) is None


def test_a_zombie_is_gone():
    child = subprocess.Popen(["true"])
    host = identify(child.pid) or dead_process()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert liveness(host) is Liveness.GONE
    child.wait()


@pytest.fixture
def child(tmp_path):
    """A process whose program has an odd name: the kernel puts it in parentheses."""
    program = tmp_path / "a ) S (b"
    program.symlink_to(sys.executable)
    with subprocess.Popen([program, "-S", "-c", "import time; time.sleep(600)"]) as one:
        yield one
        one.kill()


def test_a_stopped_process_is_alive(child):
    host = identify(child.pid)
    child.send_signal(signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)

    assert liveness(host) is Liveness.ALIVE


def test_a_process_has_the_name_of_its_program(child):
    wait_until(lambda: name_of(child.pid) == "a ) S (b")
    child.kill()
    child.wait()
    assert name_of(child.pid) == ""


@pytest.mark.parametrize("printed", ["/bin/zsh", "-zsh", "-/bin/zsh", "zsh"])
def test_a_name_by_ps_is_the_one_without_its_path(printed, tmp_path, monkeypatch):
    """Without /proc, as on macOS: a path, and a dash before a login shell."""
    ps = tmp_path / "ps"
    ps.write_text(f'#!/bin/sh\n[ "$*" = "-o comm= -p 4711" ] && echo "{printed}"\n')
    ps.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(sys, "platform", "darwin")

    assert name_of(4711) == "zsh"
    assert name_of(4712) == ""
