"""Who calls our MCP server in the real client, and what each of them may."""

import json
import os

import needs
import pytest
from hostworld import HOOKS, host_world
from installed import command
from mcpstage import calling, register, results

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.oneshot import run_print

pytestmark = pytest.mark.host

GET = ("get_variables", {})


def in_turn(first, second):
    """A thread that does what the first has left over, then what the second has."""

    def script(request):
        answer = first(request)
        return answer if answer.reason == "tool_use" else second(request)

    return script


# What the others register is read in tests/install/test_mcp_registration.py.
@pytest.mark.parametrize(
    "scope",
    [
        pytest.param("local", marks=pytest.mark.full),
        pytest.param("user", marks=pytest.mark.full),
        "project",
    ],
)
def test_what_an_install_registers_is_there_for_the_model(tmp_path, scope):
    """With a blank in a path that the client fills in itself."""
    home = str(tmp_path / "home" / "our own")
    path = f"{needs.client().parent}:{os.environ['PATH']}"
    env = {"PATH": path, "BRIDGE_HOME": home}
    main = obedient_model(main=calling(("status", {})))
    with host_world(tmp_path, main, kinds=(), env=env) as world:
        command(world.stage, "install", f"--{scope}", "--mcp")
        allowed = ["--allowedTools", "mcp__hostbridge"]
        run_print(world.stage, "please", args=allowed)
        (got,) = results(world)

    assert len(json.loads(got)["sessions"]) == 1


def test_the_plugin_and_an_install_beside_each_other(tmp_path):
    """Two servers, two sets of hooks: each call is known, whichever gets it."""
    theirs = "mcp__plugin_hostbridge_hostbridge__"
    main = in_turn(calling(GET), calling(GET, prefix=theirs))
    plugin = str(HOOKS.parent)
    with host_world(tmp_path, obedient_model(main=main)) as world:
        register(world)
        world.allow("mcp__hostbridge", theirs.removesuffix("__"))
        printed = run_print(world.stage, "please", args=["--plugin-dir", plugin])
        got = results(world)

    assert printed.exit_code == 0
    assert [json.loads(each)["of"].partition(" ")[0] for each in got] == ["session"] * 2


def test_without_a_grant_the_client_asks_as_for_any_tool(tmp_path):
    """In a run without a person that means no."""
    with host_world(tmp_path, obedient_model(main=calling(GET))) as world:
        register(world)
        assert world.print("please").exit_code == 0
        (refused,) = results(world)

    assert "requested permissions to use" in refused
