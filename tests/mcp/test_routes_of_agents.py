"""What the agent of a `claude -p` of ours asks by our tools goes by its own route."""

import os
from typing import Any

import pytest
from fakeclaude import fake_claude, trust_folder
from gitworld import git
from mcpworld import run, text_of
from polling import wait_until

from bridge.store import Claimant
from bridge.store.host_process import identify

pytestmark = pytest.mark.slow

PARENTS = ["claude", "host"]
CHANGE = {"validators": ["validator-logic"], "wait": False}
CALLS: dict[str, dict[str, Any]] = {
    "start_agent": {"prompt": "Which?", "wait": False},
    "validate_task": {"task_id": "#1"},
    "run_flow": {"flow": 'Explore:"Look"', "wait": False},
    "validate_change": CHANGE,
    "build_and_validate": {**CHANGE, "task": "Mend it"},
}


@pytest.fixture(params=PARENTS)
def parent(
    world,
    tmp_path,
    request,
    monkeypatch,
):
    """A request that `claude -p` serves: asked so, or taken because no session did."""
    trust_folder(world.home, world.project)
    monkeypatch.setenv("BRIDGE_CLAUDE", str(fake_claude(tmp_path / "bin")))
    git(world.project, "init", "-q")
    (world.project / "a.py").write_text("one = 1\n")
    world.bridge.tasks.create("It runs")
    # No session is open any more.
    world.fire("SessionEnd", reason="other")
    asked = world.bridge.submit("Work.", route=request.param)
    host = identify(os.getpid())
    assert host is not None
    world.store.claim(Claimant("claude", host, "claude"), 4, lambda _: "take")
    return asked


@pytest.mark.parametrize("tool", CALLS)
def test_a_tool_asks_on_the_route_of_its_agent(world, parent, tool):
    """No session is open, and none of these tools need be told how to do without."""

    def routes():
        overview = world.bridge.overview()
        found = (*overview.requests, *overview.last)
        every = [world.bridge.status(each.request_id).request for each in found]
        return {r.route for r in every if r and r.request_id != parent}

    async def steps(client):
        done = await client.call_tool(tool, CALLS[tool])
        assert not done.is_error, text_of(done)
        wait_until(routes, what="a request")

    run(steps, world.project, BRIDGE_PARENT=parent, CLAUDE_PID="")
    assert routes() == {"claude"}
