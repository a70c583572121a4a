"""Agents of a flow as Markdown agents: in the folder of their run, as long as it."""

import os

import pytest
from engine.flowworld import World
from flow.simulation import plan_of

from bridge.agents.known_agents import Agents
from bridge.agents.load import load
from bridge.agents.registry import Registry
from bridge.bound.agent_limits import agents_above
from bridge.engine.temporary import define
from bridge.errors import BadDefinition, BridgeError, UnknownAgent
from bridge.store import live_runs

FLOW = """
$own := {base: "BASE", prompt: "You look for {{what:faults}}.", model: "opus"}
$own:"Look at {{where}}":found -> $own:"Mend {found}"
"""
CHECKER = """
name: checker
prompt: "Task: {{ task }}"
tools: [Read, Grep, Bash]
blocked_tools: [Agent]
allow: ["Bash(ls *)"]
max_turns: 7
timeout: 9
routes: [host, claude]
output_schema: {type: object, required: [n]}
require_verified_evidence: false
"""


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    agents = tmp_path / "home" / "agents"
    agents.mkdir(parents=True, mode=0o700)
    made.user = agents
    return made


def begin(world, base="general-purpose", route="host", flow=FLOW, **given):
    ask = {"route": route}
    params = {"where": "src"} | given
    return world.begin(flow.replace("BASE", base), ask=ask, params=params, name="f")


def folder(world, run):
    return world.store.place.state / "runs" / run


def file_of(world, run, name="own"):
    return folder(world, run) / "agents" / f"{name}.md"


def defined(world, request):
    agents = Agents.open(world.settings, world.store.place.project)
    return define(world.store, agents, request)


def test_it_is_a_markdown_agent_like_any_other(world):
    """Whole, with its parameters; the same loader finds nothing wrong with it."""
    run = begin(world, what="{found} and $x")

    assert file_of(world, run).read_text() == (
        "---\nname: own\n"
        f"description: A temporary agent of a flow, run {run}\n"
        "base: general-purpose\nmodel: opus\n---\n"
        "You look for {found} and $x.\n"
    )
    loaded = load(file_of(world, run), "user")
    assert loaded.problems == ()
    assert loaded.definition.system_prompt == "You look for {found} and $x."


@pytest.mark.parametrize("base", ["Explore", "tools:linter", "a"])
def test_what_only_the_client_has_runs_it_in_a_session(world, base):
    """Claude Code's own agent, a plugin's, one of `.claude/agents`."""
    begin(world, base)

    request = world.waiting()["$own"]
    assert request.definition.subagent_type == base
    assert request.spoken == "You look for faults.\n\nLook at src"


def test_what_the_base_says_and_may_do_is_its_own_too(world):
    """On the host's route and on others; nothing more."""
    (world.user / "checker.yaml").write_text(CHECKER)
    for route in ("host", "claude"):
        run = begin(world, "checker", route)

        request, definition = defined(world, world.waiting()["$own"])
        assert request.timeout == 9000
        assert request.answer_schema == {"type": "object", "required": ["n"]}
        assert request.spoken == "You look for faults.\n\nTask: Look at src"
        assert (definition.name, definition.max_turns) == ("$own", 7)
        assert definition.tools == ("Read", "Grep", "Bash")
        assert definition.blocked_tools == ("Agent",)
        assert definition.allow == ("Bash(ls *)",)
        world.answer_id(request.request_id, "", n=1)
        with world.store.state() as state:
            live_runs.remove(state, run)


def test_the_words_of_a_markdown_base_come_first(world):
    """Away from the client, which would have read them itself."""
    begin(world, "a", "claude")

    request = world.waiting()["$own"]
    assert request.spoken == "You are a.\n\nYou look for faults.\n\nLook at src"


def test_error_a_base_that_the_route_does_not_have(world):
    run = begin(world, "Explore", "endpoint")

    assert world.advance(run)["status"] == "failed"
    assert "agent 'Explore' is Claude Code's own" in world.advance(run)["why"]


def test_rules_see_its_base(world):
    """What binds an agent binds what a flow makes of it."""
    begin(world, "Explore")

    assert agents_above(world.store, world.waiting()["$own"]) == ("Explore",)


def edit(file):
    file.write_text(file.read_text().replace("opus", "haiku"))


def plant(file):
    file.unlink()
    file.symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    ("change", "why"),
    [(edit, "it has changed since the run began"), (plant, "not a plain file"),
     (os.unlink, "it is not there")],
)  # fmt: skip
def test_error_a_file_that_is_not_as_it_was_written(world, change, why):
    """Named, and not run: neither what was asked already, nor what comes next."""
    run = begin(world)
    asked = world.waiting()["$own"]
    change(file_of(world, run))

    with pytest.raises(BridgeError, match=why):
        defined(world, asked)

    ended = world.answered(run, "$own")
    assert ended["status"] == "failed"
    assert f"{file_of(world, run)}: {why}" in ended["why"]
    assert world.waiting() == {}


def test_error_another_file_beside_it_is_nobodys_agent(world):
    run = begin(world)
    text = file_of(world, run).read_text().replace("own", "other")
    file_of(world, run, "other").write_text(text)
    asked = world.waiting()["$own"].with_(agent_type="$other")

    with pytest.raises(UnknownAgent, match=r"no agent is named '\$other' in .*/runs/"):
        defined(world, asked)


def test_error_nobody_else_can_ask_for_it(world):
    """No run has made such a request; by its plain name, there is no such agent."""
    begin(world)
    asked = world.waiting()["$own"]

    with pytest.raises(BridgeError, match=r"there is no run 'r0'"):
        defined(world, asked.with_(request_id="r0-node-0-1-1"))
    with pytest.raises(BridgeError, match="named 'own'"):
        defined(world, asked.with_(agent_type="own", definition=None))
    assert Registry.open(world.settings, world.store.place.project).find("$own") is None


def test_a_prompt_with_variables_comes_with_each_call(world):
    """What it says is known only then; the file has the rest."""
    flow = """
    $own := {base: "general-purpose", prompt: "You know {x}."}
    a:"look":x -> $own:"Mend"
    """
    run = world.begin(flow)
    world.answered(run, "a", "all")

    assert world.waiting()["$own"].spoken == "You know all.\n\nMend"
    assert file_of(world, run).read_text().endswith("model: sonnet\n---\n\n")


def test_a_called_flow_has_its_own(world):
    caller = '@call:other(p="v")'
    callee = '$own := {base: "b", prompt: "You are {{p}}."} $own:"go"'
    plan = plan_of(caller)
    plan["flows"]["other"] = plan_of(callee)
    run = world.begin(plan)

    request = world.waiting()["$own"]
    child = request.request_id.partition("-")[0]
    assert request.spoken == "You are v.\n\ngo"
    assert child != run
    assert file_of(world, child).exists()
    assert not (folder(world, run) / "agents").exists()


def test_it_is_removed_with_its_run_and_nothing_else(world, tmp_path):
    run = begin(world)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.md").write_text("kept")
    (file_of(world, run).with_name("link.md")).symlink_to(outside / "kept.md")
    (folder(world, run) / "agents" / "folder").symlink_to(outside)

    with world.store.state() as state:
        live_runs.remove(state, run)

    assert not folder(world, run).exists()
    assert (outside / "kept.md").read_text() == "kept"


def markdown(world, name, fields, words="Words."):
    text = f"---\nname: {name}\ndescription: d\n{fields}\n---\n{words}\n"
    (world.user / f"{name}.md").write_text(text)


def find(world, name, route="host"):
    return Agents.open(world.settings, world.store.place.project).find(name, route)


def test_an_agent_of_yours_may_have_a_base_too(world):
    """As a promoted one has; it may do less than its base, never more."""
    (world.user / "checker.yaml").write_text(CHECKER)
    markdown(world, "mine", "base: checker\ntools: Read, Write\nmaxTurns: 9")

    mine = find(world, "mine")

    assert mine.tools == ("Read",)
    assert (mine.max_turns, mine.allow) == (7, ("Bash(ls *)",))
    assert (mine.name, mine.system_prompt) == ("mine", "Words.")


def test_error_no_such_base_or_itself(world):
    markdown(world, "one", "base: two")
    with pytest.raises(UnknownAgent, match="no agent is named 'two'"):
        find(world, "one")

    markdown(world, "two", "base: one")
    with pytest.raises(BadDefinition, match="one on two on one"):
        find(world, "one")


def test_the_client_knows_no_base(world, tmp_path):
    """In its own folders the field means nothing, there and here."""
    text = "---\nname: a\ndescription: d\nbase: Explore\n---\nWords.\n"
    file = tmp_path / "claude" / "agents" / "a.md"
    file.write_text(text)

    assert find(world, "a", "claude").base is None
    assert "base: unknown field" in str(load(file, "claude-user").problems[0])
