"""Headless agents: served by the server, and ended with it."""

import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import needs
import pytest
from fakeclaude import SUCCESS, WAITING, fake_claude
from hookworld import HookWorld
from mcp import MCPError
from mcpworld import STARTED, call_from, client_pid, run, served, server_pid, text_of
from polling import wait_until

from bridge.store.host_process import name_of
from bridge.testing.stage.processes import is_alive

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

HAIKU = {"prompt": "Which?", "mode": "headless", "model": "haiku"}


@pytest.fixture
def claude(world, monkeypatch):
    """A folder with an obedient client in it."""
    program = fake_claude(world.project.parent / "bin")
    monkeypatch.setenv("BRIDGE_CLAUDE", str(program))
    return program.parent


def pid_of(folder: Path) -> int:
    """The process of a client that waits."""
    wait_until((folder / "pid").exists)
    wait_until(lambda: (folder / "pid").read_text().endswith("\n"))
    return int((folder / "pid").read_text())


def statuses(world: HookWorld) -> list[str]:
    return [each.status for each in world.bridge.overview().last]


def test_an_agent_is_served_by_claude_p(world, claude):
    """The seed's own call: no agent, mode headless, a model."""

    async def steps(client):
        done = await call_from(world, client, "start_agent", HAIKU)

        told = done.structured_content
        assert told["answer"]["summary"] == SUCCESS["summary"]
        assert (told["success"], told["route"]) == (True, "claude")
        assert text_of(done).endswith(": completed\nserved right here")
        found = world.bridge.status(told["request_id"])
        me = f"{name_of(client_pid())} over MCP (pid {client_pid()})"
        assert found.request.requester == me
        assert (found.request.depth, found.request.model) == (0, "haiku")

    run(steps, world.project, BRIDGE_REQUESTER="")
    assert "haiku" in (claude / "argv").read_text().split()


def test_depth_has_a_limit(world, claude):
    _, agent = world.working()

    async def steps(client):
        refused = await call_from(world, client, "start_agent", HAIKU, agent=agent)
        assert text_of(refused).startswith("depth: 1 agents stand above this request")

    run(steps, world.project, BRIDGE_MAX_DEPTH="0")
    assert not (claude / "stdin").exists()


async def test_a_call_that_is_cancelled_cancels_the_agent(world, claude, use):
    """Esc in the client: nobody waits for the answer any more."""
    fake_claude(claude, WAITING)

    async with anyio.create_task_group() as group:
        group.start_soon(use, "start_agent", HAIKU)
        pid = await anyio.to_thread.run_sync(pid_of, claude)
        group.cancel_scope.cancel()
    await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(pid))
    assert statuses(world) == ["cancelled"]


async def test_a_call_that_is_cancelled_at_once_leaves_nothing(world, claude, use):
    """Whatever the server was doing when it heard of it."""
    fake_claude(claude, WAITING)

    for tenths in (0.02, 0.05, 0.1, 0.2, 0.4):
        with anyio.move_on_after(tenths):
            await use("start_agent", {**HAIKU, "wait": True})
    # The server answers one after the other: the last start is over.
    await anyio.sleep(1)
    await anyio.to_thread.run_sync(
        wait_until, lambda: not world.bridge.overview().requests
    )
    assert set(statuses(world)) <= {"cancelled"}


async def test_a_wait_that_is_cancelled_leaves_the_agent(claude, use):
    fake_claude(claude, WAITING)
    begun = await use("start_agent", {**HAIKU, "wait": False})
    asked = {"request_id": begun.structured_content["request_id"]}
    pid = await anyio.to_thread.run_sync(pid_of, claude)
    with anyio.move_on_after(1):
        await use("wait_for_agent", asked)
    assert is_alive(pid)

    late = await use("wait_for_agent", {**asked, "timeout_s": 0})
    assert not late.is_error
    assert late.structured_content["stage"] == "running"

    ended = await use("cancel_agent", asked)
    assert ended.structured_content["status"] == "cancelled"
    await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(pid))


async def test_progress_is_told_while_it_works(claude, outsider):
    """It keeps a client from giving up."""
    fake_claude(claude, WAITING)
    seen: list[tuple[float, float | None, str | None]] = []
    twice = anyio.Event()

    async def note(done, total, message):
        seen.append((done, total, message))
        if len(seen) > 1:
            twice.set()

    task: dict[str, Any] = {**HAIKU, "timeout_s": 60}
    async with anyio.create_task_group() as group:

        async def ask():
            await outsider.call_tool("start_agent", task, progress_callback=note)

        group.start_soon(ask)
        await twice.wait()
        group.cancel_scope.cancel()

    assert seen[0][1] is None
    assert re.fullmatch(r"running, \d+ s of 61 s", seen[0][2] or "")
    assert seen[0][0] < seen[1][0]


def test_closing_stdin_ends_what_was_started(world, claude):
    """The client leaves: no process and no request of the server's stays."""
    fake_claude(claude, WAITING)

    async def steps():
        async with served(world.project, STARTED, CLAUDE_PID="") as client:
            await client.call_tool("start_agent", {**HAIKU, "wait": False})
            return await anyio.to_thread.run_sync(pid_of, claude)

    pid = anyio.run(steps)
    wait_until(lambda: not is_alive(pid))
    assert statuses(world) == ["cancelled"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_what_was_started(world, claude, number, use):
    """What a client does that does not wait."""
    fake_claude(claude, WAITING)

    await use("start_agent", {**HAIKU, "wait": False})
    pid = await anyio.to_thread.run_sync(pid_of, claude)
    server = server_pid()
    os.kill(server, number)
    await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(pid))
    await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(server))

    assert statuses(world) == ["cancelled"]


async def test_a_signal_ends_what_a_caller_waits_for(world, outsider):
    """Nobody wants the answer of the session any more."""

    async def ask():
        with suppress(MCPError):  # the server is gone
            await outsider.call_tool("start_agent", {"prompt": "Count."})

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        waiting = lambda: world.bridge.overview().requests  # noqa: E731
        await anyio.to_thread.run_sync(wait_until, waiting)
        os.kill(server_pid(), signal.SIGTERM)
        ended = lambda: statuses(world) == ["cancelled"]  # noqa: E731
        await anyio.to_thread.run_sync(wait_until, ended)
        group.cancel_scope.cancel()


@pytest.mark.slow
def test_a_local_model_answers(world, tmp_path):
    """The same call on another route: a model file of this machine."""
    needs.local_model()
    schema = {"type": "object", "properties": {"n": {"enum": [4]}}, "required": ["n"]}
    task = {"prompt": "2 + 2?", "mode": "headless", "schema": schema}

    async def steps(client):
        done = await call_from(world, client, "start_agent", {**task, "timeout_s": 300})
        told = done.structured_content
        assert (told["answer"], told["route"]) == ({"n": 4}, "local")
        assert told["trusted"] is False
        assert "Not to be relied on" in text_of(done)

    run(steps, world.project, BRIDGE_CLI_FALLBACK="local", TMPDIR=str(tmp_path))


MODES = [
    ("mode: headless", None, "claude"),
    ("mode: headless", "terminal", "host"),
    ("mode: terminal", None, "host"),
    ("mode: terminal", "headless", "claude"),
    ("routes: [host, claude]", "headless", "claude"),
    ("model: haiku", None, "host"),
]


async def test_the_calls_mode_goes_before_the_agents(world, claude, use):
    """The call, then the definition, then an open session."""
    for at, (definition, mode, route) in enumerate(MODES):
        world.define(f"a{at}", definition)
        task = {"prompt": "Which?", "agent": f"a{at}", "mode": mode, "wait": False}
        begun = await use("start_agent", task)
        request_id = begun.structured_content["request_id"]
        found = world.bridge.status(request_id)
        assert found.request.route == route, definition
        if route == "host":
            # The definition does not stop it at its launch either.
            world.launch(request_id)

    assert (claude / "argv").exists()


async def test_error_a_mode_that_the_agent_does_not_have(world, use):
    """`routes` says what may answer it, whatever the call wants."""
    world.define("here", "routes: [host]")
    world.define("away", "provider: endpoint")

    for agent, mode, why in (
        ("here", "headless", "runs in an open session only"),
        ("away", "terminal", "does not take the route host; it takes endpoint"),
    ):
        task = {"prompt": "Which?", "agent": agent, "mode": mode}
        refused = await use("start_agent", task)
        assert text_of(refused).startswith(f"bad_request: agent {agent!r} {why}")


def test_error_the_budget_of_the_session_is_used_up(world, claude, monkeypatch):
    """A process of its own costs as much as an agent of the session."""
    monkeypatch.setenv("BRIDGE_AGENTS_PER_HOUR", "1")
    world.say("UserPromptSubmit", prompt="hello")

    async def steps(client):
        assert not (await call_from(world, client, "start_agent", HAIKU)).is_error
        refused = await call_from(world, client, "start_agent", HAIKU)
        assert refused.is_error
        assert "budget: " in text_of(refused)

    run(steps, world.project, CLAUDE_PID="")
    assert claude.is_dir()
