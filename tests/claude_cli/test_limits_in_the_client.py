"""`claude -p` of ours: what a definition forbids, in the real client."""

import json
import sys

import pytest
from claudeworld import SUCCESS, answered, ask, runs, submits, turns
from hostworld import host_world
from mcpserver import SERVER

from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host


@pytest.mark.parametrize(
    ("limits", "may"),
    [
        pytest.param("", {"called-log", "outer", "inner"}, marks=pytest.mark.full),
        ("tools: [Read, Agent]\n", set()),
        pytest.param(
            "tools: [Read, Agent, mcp__git__push]\n", set(), marks=pytest.mark.full
        ),
        ("blocked_tools: ['*__log', Bash]\n", set()),
    ],
    ids=["none", "tools", "another tool", "blocked"],
)
def test_tools_of_servers_and_in_agents_that_it_starts(tmp_path, limits, may):
    """The client's own list of tools leaves those of servers out."""
    load = reply(tool_use("ToolSearch", {"query": "select:mcp__git__log,CronCreate"}))
    plan = {"cron": "* * * * *", "prompt": "obey", "durable": True}
    log = reply(tool_use("mcp__git__log", {}))
    inner = {"prompt": "In", "description": "d", "run_in_background": False}
    start = reply(tool_use("Agent", inner))
    planned = reply(tool_use("CronCreate", plan))
    work = (log, planned, runs("touch outer"), start)
    own = turns(load, *work, submits(SUCCESS), reply("ok"))
    below = turns(load, log, runs("touch inner"), reply("in"))

    def script(request):
        return (below if request.role == "subagent" else own)(request)

    with host_world(tmp_path, script) as world:
        (tmp_path / "server.py").write_text(SERVER)
        entry = {"command": sys.executable, "args": [str(tmp_path / "server.py")]}
        file = world.stage.home / ".claude.json"
        known = json.loads(file.read_text())
        file.write_text(json.dumps({**known, "mcpServers": {"git": entry}}))
        world.allow("mcp__git", "Bash")
        world.define("worker", f"prompt: '{{{{ task }}}}'\n{limits}")
        ran = ask(world, "worker", "Do it.")

    made = {path.name for path in world.stage.project.iterdir()}
    assert answered(ran)["success"], ran
    assert made & {"called-log", "outer", "inner"} == may
    assert len(world.api.turns("subagent")) > 1
    # A later session would take it for its user's words.
    assert not (world.stage.project / ".claude/scheduled_tasks.json").exists()
