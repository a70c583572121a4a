"""Who calls our MCP server in the real client, and what each of them may."""

import json
import os

import needs
import pytest
from hostworld import HOOKS, host_world
from installed import command
from mcpstage import calling, register, results, results_of
from ruleworld import define_rules

from bridge.testing.stage.models import agent_output, obedient_model
from bridge.testing.stage.oneshot import run_print

pytestmark = pytest.mark.host

GET = ("get_variables", {})
RULES = "variables: {checked: false}\n"


def setting(**values):
    return ("set_variables", {"values": values})


def in_turn(first, second):
    """A thread that does what the first has left over, then what the second has."""

    def script(request):
        answer = first(request)
        return answer if answer.reason == "tool_use" else second(request)

    return script


def test_a_model_sets_only_what_belongs_to_nobody_else(tmp_path):
    """A variable of rules.yaml is the person's, also in an agent that it starts."""
    child = ("start_agent", {"prompt": "Go.", "variables": {"checked": True}})
    main = calling(setting(task="rename"), setting(checked=True), child, GET)
    with host_world(tmp_path, obedient_model(main=main)) as world:
        define_rules(world, RULES)
        register(world)
        world.allow("mcp__hostbridge")
        assert world.print("please").exit_code == 0
        _, refused, not_begun, got = results(world)
        asked = world.bridge.overview().requests

    known = json.loads(got)["variables"]
    assert "checked belongs to the person (" in refused
    assert "checked belongs to the person (" in not_begun
    assert asked == ()
    assert known["task"] == {"value": "rename", "owner": "model"}
    assert known["checked"] == {"value": False, "owner": "person"}


def test_variables_go_with_the_session_through_clear(tmp_path):
    """The server lives on, with the id of a session that is over."""
    main = in_turn(
        calling(setting(task="rename"), word="please"), calling(GET, word="afresh")
    )
    with host_world(tmp_path, obedient_model(main=main)) as world:
        register(world)
        world.allow("mcp__hostbridge")
        with world.stream(greet=False) as session:
            session.ask("please", timeout_s=300)
            (before,) = world.live()
            session.ask("/clear")
            session.ask("afresh", timeout_s=300)
            (after,) = world.live()
        _, got = results(world)

    assert before.session_id != after.session_id
    assert json.loads(got)["of"] == f"session {after.session_id}"
    assert json.loads(got)["variables"]["task"]["value"] == "rename"


WORKER = """\
prompt: 'Task: {{ task }}'
tools: [mcp__hostbridge__get_variables, mcp__hostbridge__set_variables]
allow: [mcp__hostbridge__get_variables, mcp__hostbridge__set_variables]
default_variables: {mine: 1}
"""


def test_an_agent_of_ours_has_its_own_variables(tmp_path):
    """One server for all: what an agent sets, its session does not see."""
    agent = calling(setting(found=3), GET, ("status", {}), word="Task:")

    def answers(_prompt, request):
        said = agent(request)
        return agent_output() if said.reason == "end_turn" else said

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.define("worker", WORKER)
        register(world)
        with world.stream():
            response = world.ended(world.submit("Look.", agent="worker"))
        of_sessions = list(world.store.place.state.glob("sessions/*.vars.json"))

    _, got, refused = results_of(world.api.turns("subagent"))
    assert response.success
    assert json.loads(got)["of"].startswith("agent ")
    assert json.loads(got)["variables"]["mine"]["value"] == 1
    assert json.loads(got)["variables"]["found"]["value"] == 3
    assert "keeps mcp__hostbridge__status from it" in refused
    assert of_sessions == []


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


def test_without_a_grant_the_client_asks_as_for_any_tool(tmp_path):
    """In a run without a person that means no."""
    with host_world(tmp_path, obedient_model(main=calling(GET))) as world:
        register(world)
        assert world.print("please").exit_code == 0
        (refused,) = results(world)

    assert "requested permissions to use" in refused


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
