"""An idle session is woken, wherever it went and however early the request came.

Nobody waits for these requests: a waiter would wake it again.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gitworld import git
from hostworld import HostWorld, host_world
from polling import wait_until

from bridge.errors import BridgeError
from bridge.protocol.ids import RequestId
from bridge.testing.stage.api import Script
from bridge.testing.stage.models import launching, obedient_model
from bridge.testing.stage.replies import Answer, reply, tool_use
from bridge.testing.stage.stream import StreamSession
from bridge.testing.stage.terminal import TerminalSession
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

CALLS = {
    "cd": tool_use("Bash", {"command": "mkdir -p s && cd s", "description": "c"}),
    "worktree": tool_use("EnterWorktree", {}),
    "main": tool_use("ExitWorktree", {"action": "keep"}),
}
OBEY = launching()


def moving(request: ApiRequest) -> Answer:
    """A main thread that moves when it is told to, and otherwise obeys offers."""
    for word, call in CALLS.items():
        if f"go to {word}" in request.newest_text:
            return reply(call)
    return OBEY(request)


def ignoring_until(signal: threading.Event) -> Script:
    """A main thread that ignores every offer until it is told not to."""
    return lambda request: OBEY(request) if signal.is_set() else reply("no")


def answered(world: HostWorld, request: RequestId) -> bool:
    """Whether an idle session answers; this look changes nothing."""

    def response():
        found = world.store.find(request)
        return found and found.response

    wait_until(response, what=f"an answer\n{world.story()}")
    return world.ended(request, timeout_s=0).success


def make_repository(world: HostWorld) -> None:
    git(world.stage.project, "init", "-q")
    git(world.stage.project, "commit", "-q", "--allow-empty", "-m", "one")


@pytest.mark.canary
@pytest.mark.parametrize("how", ["stream", "terminal"])
def test_after_moves_it_is_woken(tmp_path, how):
    routes = [["cd"], ["worktree"], ["cd"], ["main", "cd"]]
    with host_world(tmp_path, obedient_model(main=moving)) as world:
        world.allow("Bash", "EnterWorktree", "ExitWorktree")
        make_repository(world)
        with world.terminal() if how == "terminal" else world.stream() as session:
            ask = session.submit if how == "terminal" else session.ask
            for route in routes:
                for move in route:
                    turns = len(world.api.turns("main"))
                    ask(f"go to {move}")
                    world.wait_for_turns(turns + 2)
                assert answered(world, world.submit())


def test_after_commands_it_is_woken(tmp_path):
    with host_world(tmp_path, record=["SessionStart"]) as world:
        with world.terminal() as terminal:
            for command in ("/add-dir .", "/compact", "/clear"):
                starts = len(world.events)
                terminal.submit(command)
                if command != "/add-dir .":
                    wait_until(lambda n=starts: len(world.events) > n)
                assert answered(world, world.submit())


def test_a_session_in_a_worktree_of_its_own_is_woken(tmp_path):
    """`claude --worktree`: another folder, the same project."""
    with host_world(tmp_path) as world:
        make_repository(world)
        with TerminalSession(world.stage, args=["--worktree", "wt"]):
            wait_until(world.live)
            assert answered(world, world.submit())


def test_a_request_that_comes_before_the_watch_is_served(tmp_path):
    """It is woken once, as soon as its record is there."""
    with host_world(tmp_path) as world:
        asked: list[RequestId] = []

        def ask_at_once():
            wait_until(world.live)
            asked.append(world.submit())

        asker = threading.Thread(target=ask_at_once)
        asker.start()
        with TerminalSession(world.stage):
            asker.join()
            assert answered(world, asked[0])


@contextmanager
def offered(
    root: Path, obeys: threading.Event
) -> Iterator[tuple[HostWorld, RequestId, StreamSession]]:
    """A world, and a session that ignores a request that it was offered."""
    model = obedient_model(main=ignoring_until(obeys))
    with host_world(root, model, env={"BRIDGE_MAX_OFFERS": "99"}) as world:
        request = world.submit()
        with world.stream() as session:
            world.wait_for_stage(request, "offered")
            yield world, request, session


def test_a_resumed_session_serves_what_its_dead_process_held(tmp_path):
    """It is idle: nobody types, nobody waits."""
    obeys = threading.Event()
    with offered(tmp_path, obeys) as (world, request, session):
        (dead,) = world.live()
        session.kill()
        obeys.set()
        with TerminalSession(world.stage, args=["--resume", dead.session_id]):
            assert answered(world, request)
            (now,) = world.live()

    assert (now.session_id, now.host == dead.host) == (dead.session_id, False)


def test_an_idle_session_serves_what_a_dead_one_held(tmp_path):
    """While somebody waits, or as soon as somebody looks."""
    obeys = threading.Event()
    with offered(tmp_path, obeys) as (world, request, session), world.stream():
        session.kill()
        obeys.set()
        with pytest.raises(BridgeError):
            world.bridge.wait(request, timeout_s=0.5)
        world.bridge.status(request)
        assert answered(world, request)
