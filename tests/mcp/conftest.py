"""A session whose client calls the server, which it has started."""

from functools import partial

import pytest
from hookworld import HookWorld
from mcpworld import call_from, client_pid, served


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = HookWorld(tmp_path, monkeypatch, client_pid())
    world.fire("SessionStart", source="startup")
    return world


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def client(world):
    """A client of a server in the project."""
    async with served(world.project) as opened:
        yield opened


@pytest.fixture
async def outsider(world):
    """Another program's client: its server was not started by the session."""
    async with served(world.project, CLAUDE_PID="") as opened:
        yield opened


@pytest.fixture
def use(world, client):
    """Call a tool as the client does for the session, or one of its agents."""
    return partial(call_from, world, client)
