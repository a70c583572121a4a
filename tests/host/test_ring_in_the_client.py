"""A session at a terminal is rung, in the real client.

Without the hook that sees a file change, nothing else would wake it.
"""

import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import forkserver
import pytest
from hostworld import HOOKS, HostWorld, host_world
from polling import wait_until

from bridge.host.hook_table import entries, form_of
from bridge.ring import RING
from bridge.store import wakeups
from bridge.testing.stage.api import Script
from bridge.testing.stage.models import launching, obedient_model
from bridge.testing.stage.processes import family, is_alive
from bridge.testing.stage.replies import Answer, reply, tool_use
from bridge.testing.stage.terminal import TerminalSession
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

OBEY = launching()


def is_heard(world: HostWorld) -> bool:
    return any(wakeups.is_heard(world.store, each.host) for each in world.live())


def waiters(pid: int) -> list[int]:
    """The processes below a client that wait for a ring, without their shells."""
    found = [each.pid for each in family(pid)]
    lines = {each: Path(f"/proc/{each}/cmdline") for each in found}
    return [
        each
        for each, line in lines.items()
        if line.exists() and line.read_bytes().endswith(b"\0ring\0")
    ]


@contextmanager
def deaf(root: Path, main: Script = OBEY) -> Iterator[HostWorld]:
    """A world whose client reports no file that changes."""
    with host_world(root, obedient_model(main=main), kinds=()) as world:
        hooks = entries(form_of("local", HOOKS, forkserver.hook_python()))
        hooks.pop("FileChanged")
        world.add_hooks(hooks)
        yield world


@pytest.mark.canary
@pytest.mark.parametrize("mode", ["default", "auto"])
def test_it_is_woken_before_and_after_turns_and_after_clear(tmp_path, mode):
    with deaf(tmp_path) as world, TerminalSession(world.stage, mode=mode) as terminal:
        wait_until(lambda: is_heard(world))
        assert world.ended(world.submit()).success
        for words in ("hello", "/clear"):
            before = {session.session_id for session in world.live()}
            terminal.submit(words)
            if words == "/clear":
                wait_until(
                    lambda b=before: not b & {s.session_id for s in world.live()}
                )
            else:
                world.wait_for_turns(2)
            wait_until(lambda: is_heard(world))
            assert world.ended(world.submit()).success
        wait_until(lambda: len(waiters(terminal.pid)) == 1)


def starting_a_server(request: ApiRequest) -> Answer:
    """A main thread that starts a program in the background when told to."""
    if request.own_calls or "server" not in request.newest_text:
        return OBEY(request)
    command = {"command": "sleep 300", "description": "d", "run_in_background": True}
    return reply(tool_use("Bash", command))


def test_nothing_is_left_of_a_client_that_was_killed(tmp_path):
    """Whatever else it had started, which lives on."""
    with deaf(tmp_path, starting_a_server) as world:
        world.allow("Bash")
        with world.terminal() as terminal:
            wait_until(lambda: is_heard(world))
            terminal.submit("start a server")
            world.wait_for_turns(3)
            wait_until(lambda: is_heard(world))
            server = [
                each.pid
                for each in family(terminal.pid)
                if b"sleep" in Path(f"/proc/{each.pid}/cmdline").read_bytes()
            ]
            wait_until(lambda: len(waiters(terminal.pid)) == 1)
            (waiter,) = waiters(terminal.pid)
            terminal.kill()

            wait_until(lambda: not is_alive(waiter))
            assert any(map(is_alive, server))


def test_nobody_waits_where_the_client_prints(tmp_path):
    """Also one that prints to a terminal: it would wait for the hook."""
    with host_world(tmp_path, obedient_model()) as world:
        with world.stream():
            (session,) = world.live()
            folder = wakeups.path_of(world.store.place, session.host)
            assert os.listdir(folder) == []
        reader, terminal = pty.openpty()
        stage = world.stage
        with subprocess.Popen(
            stage.command("-p", "hello"),
            cwd=stage.project,
            env=stage.environment(),
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        ) as printing:
            assert printing.wait(120) == 0
        os.close(terminal)
        os.close(reader)

    bells = world.store.place.state / "bell"
    assert not [each for each in bells.rglob("*") if each.name == RING]
