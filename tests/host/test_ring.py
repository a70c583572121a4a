"""Who waits for a ring: one process for each idle session, and none without a client.

The hook is started as the client does it; its pipes stand for the client.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hookprocesses import INSTALLED, register, run_hook, words
from hookworld import HookWorld
from polling import wait_until

from bridge.host.hook_table import Hook
from bridge.host.registration import decide_ring
from bridge.ring import RING, SIGNAL, listener, ring
from bridge.store import wakeups
from bridge.store.host_process import arguments_of, identify, is_stopped

pytestmark = pytest.mark.slow

RINGS = Hook("Stop", "ring")


def folder_of(world: HookWorld) -> str:
    (session,) = world.live()
    return wakeups.path_of(world.store.place, session.host)


@pytest.fixture
def rung(world):
    """A world whose session is rung."""
    register(world)
    (session,) = world.live()
    wakeups.set_ring(world.store, session.host, may_ring=True)
    return world


def is_heard(world: HookWorld) -> bool:
    (session,) = world.live()
    return wakeups.is_heard(world.store, session.host)


@contextmanager
def waiting(world: HookWorld) -> Iterator[subprocess.Popen[bytes]]:
    """A hook that waits."""
    pipe = subprocess.PIPE
    command = words(RINGS, form=INSTALLED)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin
        process.stdin.close()
        process.stdin = None
        wait_until(lambda: is_heard(world))
        try:
            yield process
        finally:
            process.kill()


def test_a_ring_wakes_with_what_waits(rung):
    with waiting(rung) as process:
        request = rung.submit()
        stdout, stderr = process.communicate(timeout=120)

    assert (process.returncode, stdout) == (2, b"")
    assert f"bridge:{request}" in stderr.decode()
    assert not os.path.exists(f"{folder_of(rung)}/{SIGNAL}")
    assert not is_heard(rung)


def test_a_ring_for_nothing_leaves_it_waiting(rung):
    """Another session may have been quicker."""
    with waiting(rung) as process:
        wakeups.wake(rung.store, rung.live())
        wait_until(lambda: not os.path.exists(f"{folder_of(rung)}/{SIGNAL}"))

        assert is_heard(rung)
        rung.submit()
        assert process.wait(120) == 2


@pytest.mark.parametrize("how", ["a turn", "the end", "switched off"])
def test_it_ends_when_nobody_needs_to_be_woken(rung, how):
    """What comes then is found by the hooks of the turn, or by the file's change."""
    with waiting(rung) as process:
        if how == "a turn":
            run_hook(Hook("UserPromptSubmit", "turn"), rung.event("UserPromptSubmit"))
        elif how == "the end":
            rung.fire("SessionEnd", reason="clear")
        else:
            (rung.home / ".hostbridge/config.toml").write_text('wake = "watch"\n')
            wakeups.wake(rung.store, rung.live())

        ended = process.communicate(timeout=120)
        assert (process.returncode, *ended) == (0, b"", b"")


def test_nothing_is_left_when_the_client_is_gone(rung):
    """Also one that was killed: the other ends of the pipes are closed, no more."""
    with waiting(rung) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stderr.close()

        assert process.wait(120) == 0
        wait_until(lambda: not is_heard(rung))


def test_one_waits_at_a_time(rung):
    with waiting(rung) as process:
        assert run_hook(RINGS, rung.event("Stop"), INSTALLED) == (0, b"", b"")

        assert process.poll() is None
        assert is_heard(rung)


def test_only_the_install_that_acts_waits(rung):
    (pin,) = (rung.home / ".hostbridge/pins").iterdir()
    (pin / "by-local").rename(pin / "by-plugin")

    assert run_hook(RINGS, rung.event("Stop"), INSTALLED) == (0, b"", b"")


def test_a_session_without_a_ring_has_nobody_wait(world):
    register(world)

    assert run_hook(RINGS, world.event("Stop"), INSTALLED) == (0, b"", b"")


@pytest.mark.parametrize("what", ["file", "folder", "link to a FIFO"])
def test_nothing_else_is_rung(rung, what):
    """A FIFO that lies elsewhere may be somebody's, with a reader."""
    folder = folder_of(rung)
    os.unlink(f"{folder}/{RING}")
    elsewhere = f"{rung.project}/fifo"
    os.mkfifo(elsewhere)
    reader = os.open(elsewhere, os.O_RDONLY | os.O_NONBLOCK)
    if what == "file":
        open(f"{folder}/{RING}", "x").close()
    elif what == "folder":
        os.mkdir(f"{folder}/{RING}")
    else:
        os.symlink(elsewhere, f"{folder}/{RING}")

    rung.submit()
    run_hook(Hook("UserPromptSubmit", "turn"), rung.event("UserPromptSubmit"))
    assert run_hook(RINGS, rung.event("Stop"), INSTALLED) == (0, b"", b"")
    opened = os.open(folder, os.O_RDONLY)
    assert listener(opened) is None
    for descriptor in (opened, reader):
        os.close(descriptor)

    assert os.stat(f"{folder}/{RING}").st_size == 0 or what == "folder"
    assert os.path.lexists(f"{folder}/{RING}")


def test_a_ring_waits_for_nobody(rung):
    """Not for somebody who listens, and not for room."""
    folder = os.open(folder_of(rung), os.O_RDONLY)
    ring(folder)

    reader = os.open(RING, os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder)
    for _ in range(70_000):
        ring(folder)

    assert len(os.read(reader, 1 << 20)) == 65_536
    os.close(reader)
    os.close(folder)


def test_a_stopped_client_is_asked_for_nothing(rung):
    """What it was offered nobody else would get, and it may lose the wake-up."""
    (session,) = rung.live()
    os.kill(session.host.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: is_stopped(session.host.pid))
        rung.submit()
        assert rung.say("FileChanged") == {}
        assert os.path.exists(f"{folder_of(rung)}/{SIGNAL}")
    finally:
        os.kill(session.host.pid, signal.SIGCONT)

    assert rung.fire("FileChanged").stderr


@pytest.mark.parametrize(
    ("arguments", "wake", "prints_to", "is_rung"),
    [
        ([], "ring", "terminal", True),
        (["--resume", "x", "fix -p"], "ring", "terminal", True),
        ([], "watch", "terminal", False),
        ([], "ring", "pipe", False),
        ([], "ring", "/dev/null", False),
        (["-p", "hello"], "ring", "terminal", False),
        (["-cp", "hello"], "ring", "terminal", False),
        (["--print"], "ring", "terminal", False),
        (["--init-only"], "ring", "terminal", False),
        (["--input-format=stream-json"], "ring", "terminal", False),
    ],
)
def test_only_at_a_terminal_is_a_session_rung(
    world, arguments, wake, prints_to, *, is_rung
):
    """Elsewhere the hook would hold the client up, at its start or at its end."""
    ends = os.openpty() if prints_to == "terminal" else os.pipe()
    to = ends[1] if prints_to != "/dev/null" else subprocess.DEVNULL
    program = "import time; time.sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", program, *arguments], stdout=to
    ) as client:
        host = identify(client.pid)
        assert host
        # The command line is there a moment after the process.
        wait_until(lambda: arguments_of(client.pid))
        decide_ring(world.store, host, wake)
        client.kill()
    for end in ends:
        os.close(end)

    path = wakeups.path_of(world.store.place, host)
    assert os.path.exists(f"{path}/{RING}") is is_rung
