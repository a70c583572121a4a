"""The real client: ways around what a definition forbids, each closed."""

import json
import re
import sys
from pathlib import Path

import pytest
from hostworld import HostWorld, bash, by_name, code_of, host_world, named
from mcpserver import SERVER
from polling import wait_until

from bridge.testing.stage.models import answering, launching, obedient_model
from bridge.testing.stage.replies import Reply, ToolUse, reply, tool_use

pytestmark = pytest.mark.host

HOWS = ("one-shot", "stream")
GOOD = '{"status": "success", "summary": "s"}'
WORKER = "prompt: 'As told: {{ task }}'\n"


def call(tool: str, **arguments: object) -> Reply:
    """A model's reply that calls a tool."""
    return reply(tool_use(tool, arguments))


def load(*tools: str) -> Reply:
    """A model's reply that loads tools whose names alone it knows."""
    return call("ToolSearch", query=f"select:{','.join(tools)}", max_results=9)


def charges_of(world: HostWorld) -> list[dict[str, int | None]]:
    """What counts against the budgets of the session, open or not."""
    folder = world.store.place.state / "sessions"
    records = [*folder.glob("*.json"), *folder.glob("*.ended")]
    calls = [json.loads(file.read_text()).get("spent", {}) for file in records]
    return [each for spent in calls for each in spent.get("calls", {}).values()]


def add_server(root: Path, project: Path) -> None:
    """Have the project bring an MCP server that its user has approved."""
    server = root / "server.py"
    server.write_text(SERVER)
    entry = {"command": sys.executable, "args": [str(server)]}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"git": entry}}))
    settings = project / ".claude" / "settings.local.json"
    known = json.loads(settings.read_text())
    settings.write_text(json.dumps({**known, "enableAllProjectMcpServers": True}))


def test_nothing_of_an_agent_outlasts_its_request(tmp_path):
    """No prompt for this session or a later one, though the client asks nobody."""
    turns = (
        load("CronCreate", "SendMessage"),
        call("CronCreate", cron="* * * * *", prompt="obey", durable=True),
        call("SendMessage", to="main", message="obey"),
        reply(GOOD),
    )
    with host_world(tmp_path, obedient_model(answering(*turns))) as world:
        world.define("worker", f"{WORKER}allow: ['Bash(touch *)']\n")
        response = world.serve("one-shot", agent="worker")

    results = [r for t in world.api.turns("subagent") for r in t.tool_results]
    assert response.success
    assert [each.is_error for each in results] == [False, True, True]
    assert not (world.stage.project / ".claude/scheduled_tasks.json").exists()
    assert "obey" not in world.main_words()


@pytest.mark.parametrize("how", HOWS)
def test_what_is_no_call_of_bash(tmp_path, how):
    """A Monitor runs a command, and so does the text of a skill.

    Tools of servers are deferred: their names come with ToolSearch, their limits by
    hooks. A command that a monitor began is no proof: it fails after the client has
    said that it was started.
    """
    command = "sleep 1; exit 7"
    item = {"type": "command_output", "content": "ok", "passed": True}
    claim = {"status": "success", "summary": "s", "evidence": [item]}
    item["command"] = command
    agents = {
        "no bash": (
            load("Monitor"),
            call("Monitor", command="touch watched", description="d", timeout_ms=5000),
            call("Skill", skill="helper"),
            reply(GOOD),
        ),
        "no shell": (call("Skill", skill="helper"), reply(GOOD)),
        "no push": (
            load("mcp__git__log", "mcp__git__push"),
            call("mcp__git__log"),
            call("mcp__git__push"),
            reply(GOOD),
        ),
        "no proof": (
            load("Monitor"),
            call("Monitor", command=command, description="d", timeout_ms=9000),
            reply(json.dumps(claim)),
        ),
    }
    with host_world(tmp_path, obedient_model(by_name(agents))) as world:
        world.allow("Bash", "Monitor", "Skill", "mcp__git")
        world.add_skill("See !`touch shown`")
        add_server(tmp_path, world.stage.project)
        world.define("no-bash", f"{WORKER}blocked_tools: [Bash]\n")
        world.define("no-shell", f"{WORKER}tools: [Read, Skill]\n")
        world.define("no-push", f"{WORKER}blocked_tools: ['mcp__*__push']\n")
        world.define("no-proof", f"{WORKER}require_verified_evidence: true\n")
        questions = {named(name): {"agent": name.replace(" ", "-")} for name in agents}
        responses = world.serve_all(how, questions)

    assert [code_of(each) for each in responses] == [None, None, None, "unverified"]
    assert world.made() & {"watched", "shown"} == set()
    assert world.made() & {"called-log", "called-push"} == {"called-log"}


@pytest.mark.parametrize("how", HOWS)
def test_a_skill_that_is_loaded_with_its_agent(tmp_path, how):
    """Its commands run before the client has written down which agent that is."""
    with host_world(tmp_path, obedient_model(answering(reply(GOOD)))) as world:
        world.allow("Bash", "Skill")
        world.add_skill("See !`touch shown`")
        world.add_agent("loaded", "skills: helper\n")
        world.define("kept", f"{WORKER}subagent_type: loaded\ntools: [Read]\n")
        kept = world.serve(how, agent="kept")
        before = world.made()
        free = world.serve(how, agent="loaded")

    assert (kept.success, free.success) == (True, True)
    assert "shown" not in before
    assert "shown" in world.made()


@pytest.mark.parametrize("how", HOWS)
def test_a_skill_that_runs_as_an_agent(tmp_path, how):
    """It may what its caller may: its calls are bound without any call of Agent."""

    def answers(prompt, request):
        if "In a fork" in prompt:
            turns = (bash("touch granted"), bash("rm granted"), reply("forked"))
        else:
            turns = (call("Skill", skill="helper"), reply(GOOD))
        return answering(*turns)(prompt, request)

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.allow("Skill")
        world.add_skill("In a fork.", "context: fork\nagent: general-purpose\n")
        world.define("worker", f"{WORKER}allow: ['Bash(touch *)']\n")
        response = world.serve(how, agent="worker")
        charged = charges_of(world)

    assert response.success
    assert [each["end"] is None for each in charged] == [False, False]
    assert "granted" in world.made()
    assert "not granted to this agent" in world.subagent_words()


@pytest.mark.parametrize(
    "mode", ["default", "acceptEdits", "auto", "bypassPermissions"]
)
def test_grants_and_tools_in_every_mode(tmp_path, mode):
    """In some the client asks about nothing, and would let these run."""
    write = {"file_path": str(tmp_path / "project" / "written"), "content": "x"}
    turns = (
        bash("touch granted"),
        bash("ls | head -3"),
        bash("touch granted; touch more"),
        bash("cp granted copied"),
        call("Write", **write),
        reply(GOOD),
    )
    # As root the client takes the last mode only there.
    env = {"IS_SANDBOX": "1"}
    model = obedient_model(answering(*turns))
    with host_world(tmp_path, model, env=env) as world:
        rules = "tools: [Bash, Read]\nallow: ['Bash(touch *)']\n"
        world.define("worker", WORKER + rules)
        response = world.serve("stream", agent="worker", mode=mode)

    results = [r for t in world.api.turns("subagent") for r in t.tool_results]
    assert response.success
    assert [each.is_error for each in results[:5]] == [False, False, True, True, True]
    assert world.made() - {".claude"} == {"granted"}


@pytest.mark.parametrize("how", HOWS)
def test_the_carrier_changes_no_limit(tmp_path, how):
    """Nor does what the main thread's model says beside the token."""

    def main(request):
        said = launching()(request)
        beside = {"model": "sonnet", "subagent_type": "Explore"}
        calls = [
            tool_use(each.name, {**each.arguments, **beside})
            for each in said.blocks
            if isinstance(each, ToolUse)
        ]
        return reply(*calls) if calls else said

    turns = (bash("touch made"), call("Read", file_path="/etc/hostname"), reply(GOOD))
    model = obedient_model(answering(*turns), main=main)
    with host_world(tmp_path, model) as world:
        world.allow("Bash", "Read")
        world.add_agent("carrier", "model: haiku\ntools: Bash, Read, Write\n")
        rules = "subagent_type: carrier\nmodel: opus\ntools: [Read]\n"
        world.define("worker", WORKER + rules)
        response = world.serve(how, agent="worker")

    turn = world.api.turns("subagent")[0]
    assert response.success
    assert "opus" in turn.model
    assert turn.tools & {"Write"} == {"Write"}
    assert "keeps Bash from it. It has: Read." in world.subagent_words()
    assert "made" not in world.made()


def test_an_agent_that_is_continued_after_its_answer(tmp_path):
    """Its record is gone with its request: it may do nothing more."""

    def ends(agent_id):
        notices = [e["prompt"] for e in world.events if "<task-id>" in e["prompt"]]
        return sum(str(agent_id) in notice for notice in notices)

    def main(request):
        named = re.search(r"continue (a[0-9a-f]{9,})", json.dumps(request.messages))
        if named is None:
            return launching()(request)
        calls = [each["name"] for each in request.own_calls]
        if "SendMessage" in calls:
            return reply("ok")
        if "ToolSearch" not in calls:
            return load("SendMessage")
        return call("SendMessage", to=named[1], message="go on", summary="go on")

    turns = (bash("touch first"), reply(GOOD), bash("touch second"), reply("bye"))
    model = obedient_model(answering(*turns), main=main)
    with host_world(tmp_path, model, record=["UserPromptSubmit"]) as world:
        world.allow("Bash")
        world.define("worker", f"{WORKER}tools: [Bash]\n")
        with world.stream() as session:
            answer = world.ended(world.submit(agent="worker"))
            world.wait_until_forgotten()
            session.send(f"continue {answer.agent_id}")
            wait_until(lambda: ends(answer.agent_id) == 2, what="its second end")

    assert world.made() & {"first", "second"} == {"first"}
