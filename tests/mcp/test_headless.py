"""Headless agents: served by the server, and ended with it."""

from __future__ import annotations

import os
import re
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import needs
import pytest
from fakeclaude import SUCCESS, WAITING, fake_claude
from mcp import MCPError
from mcpworld import call_from, run, served, server_pid, text_of
from polling import wait_until

from bridge.store.host_process import name_of
from bridge.testing.stage.processes import is_alive

if TYPE_CHECKING:
    from pathlib import Path

    from hookworld import HookWorld
    from mcp.client import Client

HAIKU = {"prompt": "Which?", "mode": "headless", "model": "haiku"}


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an obedient client in it."""
    program = fake_claude(tmp_path / "bin")
    monkeypatch.setenv("BRIDGE_CLAUDE", str(program))
    return program.parent


def pid_of(folder: Path) -> int:
    """The process of a client that waits."""
    wait_until((folder / "pid").exists)
    wait_until(lambda: (folder / "pid").read_text().endswith("\n"))
    return int((folder / "pid").read_text())


def statuses(world: HookWorld) -> list[str]:
    return [each.status for each in world.bridge.overview().last]


def test_an_agent_is_served_by_claude_p(world: HookWorld, claude: Path):
    """The seed's own call: no agent, mode headless, a model."""

    async def steps(client: Client) -> None:
        done = await call_from(world, client, "start_agent", HAIKU)

        told = done.structured_content
        assert told is not None
        assert told["answer"]["summary"] == SUCCESS["summary"]
        assert (told["success"], told["route"]) == (True, "claude")
        assert text_of(done).endswith(": completed\nserved right here")
        found = world.bridge.status(told["request_id"])
        assert found.request is not None
        me = f"{name_of(os.getpid())} over MCP (pid {os.getpid()})"
        assert found.request.requester == me
        assert (found.request.depth, found.request.model) == (0, "haiku")

    run(steps, world.project, BRIDGE_REQUESTER="")
    assert "haiku" in (claude / "argv").read_text().split()


def test_depth_counts_for_an_agent_that_calls(world: HookWorld, claude: Path):
    """As for any other requester."""
    request, agent = world.working()

    async def steps(client: Client) -> None:
        done = await call_from(world, client, "start_agent", HAIKU, agent=agent)
        assert done.structured_content is not None
        found = world.bridge.status(done.structured_content["request_id"])
        assert found.request is not None
        assert (found.request.parent_request_id, found.request.depth) == (request, 1)

    run(steps, world.project)
    assert claude.is_dir()


def test_depth_has_a_limit(world: HookWorld, claude: Path):
    _, agent = world.working()

    async def steps(client: Client) -> None:
        refused = await call_from(world, client, "start_agent", HAIKU, agent=agent)
        assert text_of(refused).startswith("depth: 1 agents stand above this request")

    run(steps, world.project, BRIDGE_MAX_DEPTH="0")
    assert not (claude / "stdin").exists()


def test_a_call_that_is_cancelled_cancels_the_agent(world: HookWorld, claude: Path):
    """Esc in the client: nobody waits for the answer any more."""
    fake_claude(claude, WAITING)

    async def steps(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(call_from, world, client, "start_agent", HAIKU)
            pid = await anyio.to_thread.run_sync(pid_of, claude)
            group.cancel_scope.cancel()
        await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(pid))
        assert statuses(world) == ["cancelled"]

    run(steps, world.project)


def test_a_call_that_is_cancelled_at_once_leaves_nothing(
    world: HookWorld, claude: Path
):
    """Whatever the server was doing when it heard of it."""
    fake_claude(claude, WAITING)

    async def steps(client: Client) -> None:
        for tenths in (0.02, 0.05, 0.1, 0.2, 0.4):
            with anyio.move_on_after(tenths):
                await call_from(world, client, "start_agent", {**HAIKU, "wait": True})
        # The server answers one after the other: the last start is over.
        await anyio.sleep(1)
        await anyio.to_thread.run_sync(
            wait_until, lambda: not world.bridge.overview().requests
        )
        assert set(statuses(world)) <= {"cancelled"}

    run(steps, world.project)


def test_a_wait_that_is_cancelled_leaves_the_agent(world: HookWorld, claude: Path):
    fake_claude(claude, WAITING)

    async def steps(client: Client) -> None:
        begun = await call_from(world, client, "start_agent", {**HAIKU, "wait": False})
        assert begun.structured_content is not None
        asked = {"request_id": begun.structured_content["request_id"]}
        pid = await anyio.to_thread.run_sync(pid_of, claude)
        with anyio.move_on_after(1):
            await call_from(world, client, "wait_for_agent", asked)
        assert is_alive(pid)

        late = await call_from(
            world, client, "wait_for_agent", {**asked, "timeout_s": 0}
        )
        assert not late.is_error
        assert late.structured_content is not None
        assert late.structured_content["stage"] == "running"

        ended = await call_from(world, client, "cancel_agent", asked)
        assert ended.structured_content is not None
        assert ended.structured_content["status"] == "cancelled"
        await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(pid))

    run(steps, world.project)


def test_progress_is_told_while_it_works(world: HookWorld, claude: Path):
    """It keeps a client from giving up."""
    fake_claude(claude, WAITING)
    seen: list[tuple[float, float | None, str | None]] = []
    twice = anyio.Event()

    async def note(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))
        if len(seen) > 1:
            twice.set()

    async def steps(client: Client) -> None:
        task: dict[str, Any] = {**HAIKU, "timeout_s": 60}
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                await client.call_tool("start_agent", task, progress_callback=note)

            group.start_soon(ask)
            await twice.wait()
            group.cancel_scope.cancel()

    run(steps, world.project, CLAUDE_PID="")
    assert seen[0][1] is None
    assert re.fullmatch(r"running, \d+ s of 61 s", seen[0][2] or "")
    assert seen[0][0] < seen[1][0]


def test_closing_stdin_ends_what_was_started(world: HookWorld, claude: Path):
    """The client leaves: no process and no request of the server's stays."""
    fake_claude(claude, WAITING)

    async def steps() -> int:
        async with served(world.project) as client:
            await call_from(world, client, "start_agent", {**HAIKU, "wait": False})
            return await anyio.to_thread.run_sync(pid_of, claude)

    pid = anyio.run(steps)
    wait_until(lambda: not is_alive(pid))
    assert statuses(world) == ["cancelled"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_what_was_started(world: HookWorld, claude: Path, number):
    """What a client does that does not wait."""
    fake_claude(claude, WAITING)

    async def steps(client: Client) -> None:
        await call_from(world, client, "start_agent", {**HAIKU, "wait": False})
        pid = await anyio.to_thread.run_sync(pid_of, claude)
        server = server_pid()
        os.kill(server, number)
        await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(pid))
        await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(server))

    run(steps, world.project)
    assert statuses(world) == ["cancelled"]


def test_a_signal_ends_what_a_caller_waits_for(world: HookWorld):
    """Nobody wants the answer of the session any more."""

    async def steps(client: Client) -> None:
        async def ask() -> None:
            with suppress(MCPError):  # the server is gone
                await client.call_tool("start_agent", {"prompt": "Count."})

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            waiting = lambda: world.bridge.overview().requests  # noqa: E731
            await anyio.to_thread.run_sync(wait_until, waiting)
            os.kill(server_pid(), signal.SIGTERM)
            ended = lambda: statuses(world) == ["cancelled"]  # noqa: E731
            await anyio.to_thread.run_sync(wait_until, ended)
            group.cancel_scope.cancel()

    run(steps, world.project, CLAUDE_PID="")


@pytest.mark.slow
def test_a_local_model_answers(world: HookWorld, tmp_path: Path):
    """The same call on another route: a model file of this machine."""
    needs.local_model()
    schema = {"type": "object", "properties": {"n": {"enum": [4]}}, "required": ["n"]}
    task = {"prompt": "2 + 2?", "mode": "headless", "schema": schema}

    async def steps(client: Client) -> None:
        done = await call_from(world, client, "start_agent", {**task, "timeout_s": 300})
        told = done.structured_content
        assert told is not None, text_of(done)
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


def test_the_calls_mode_goes_before_the_agents(world: HookWorld, claude: Path):
    """The call, then the definition, then an open session."""
    folder = world.home / ".hostbridge" / "agents"
    folder.mkdir(parents=True)

    async def steps(client: Client) -> None:
        for at, (definition, mode, route) in enumerate(MODES):
            (folder / f"a{at}.yaml").write_text(f"name: a{at}\n{definition}\n")
            task = {"prompt": "Which?", "agent": f"a{at}", "mode": mode, "wait": False}
            begun = await call_from(world, client, "start_agent", task)
            assert begun.structured_content is not None, text_of(begun)
            request_id = begun.structured_content["request_id"]
            found = world.bridge.status(request_id)
            assert found.request is not None
            assert found.request.route == route, definition
            if route == "host":
                # The definition does not stop it at its launch either.
                world.launch(request_id)

    run(steps, world.project)
    assert (claude / "argv").exists()


def test_error_a_mode_that_the_agent_does_not_have(world: HookWorld):
    """`routes` says what may answer it, whatever the call wants."""
    folder = world.home / ".hostbridge" / "agents"
    folder.mkdir(parents=True)
    (folder / "here.yaml").write_text("name: here\nroutes: [host]\n")
    (folder / "away.yaml").write_text("name: away\nprovider: endpoint\n")

    async def steps(client: Client) -> None:
        task = {"prompt": "Which?", "agent": "here", "mode": "headless"}
        refused = await call_from(world, client, "start_agent", task)
        assert text_of(refused).startswith(
            "bad_request: agent 'here' runs in an open session only"
        )
        task = {"prompt": "Which?", "agent": "away", "mode": "terminal"}
        refused = await call_from(world, client, "start_agent", task)
        assert text_of(refused).startswith(
            "bad_request: agent 'away' does not take the route host; it takes endpoint"
        )

    run(steps, world.project)


def test_error_the_budget_of_the_session_is_used_up(
    world: HookWorld, claude: Path, monkeypatch: pytest.MonkeyPatch
):
    """A process of its own costs as much as an agent of the session."""
    monkeypatch.setenv("BRIDGE_AGENTS_PER_HOUR", "1")
    world.say("UserPromptSubmit", prompt="hello")

    async def steps(client: Client) -> None:
        assert not (await call_from(world, client, "start_agent", HAIKU)).is_error
        refused = await call_from(world, client, "start_agent", HAIKU)
        assert refused.is_error
        assert "budget: " in text_of(refused)

    run(steps, world.project, CLAUDE_PID="")
    assert claude.is_dir()
