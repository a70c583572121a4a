"""Ways around the limits of a definition, each closed."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from defining import started, use
from hookworld import GOOD, HookWorld

from bridge.bound.call_notes import after_bash, before_tool
from bridge.policy.tool_lists import is_unasked, permits
from bridge.store import tool_calls


def agents_of(world: HookWorld) -> str:
    return f"{world.store.place.state}/agents/"


# Tools by other names


@pytest.mark.parametrize(
    ("blocked", "tool", "may"),
    [
        ("mcp__*__push", "mcp__git__push", False),
        ("mcp__*__push", "mcp__git__pull", True),
        ("mcp__*_db", "mcp__my_db__read", False),
        ("mcp__*_db", "mcp__my_dbs__read", True),
        ("mcp__*", "mcp__git__push", False),
        ("Web*", "WebFetch", False),
        ("Web*", "Read", True),
        ("Bash", "Monitor", False),
        ("Bash", "PowerShell", False),
        ("Bash", "Skill", False),
        ("run_command", "Skill", True),
        ("Agent", "mcp__hostbridge__start_agent", False),
        ("Agent", "mcp__hostbridge__run_flow", False),
        ("Agent", "mcp__plugin_hostbridge_hostbridge__validate_change", False),
        ("Agent", "mcp__hostbridge__build_and_validate", False),
        ("Agent", "mcp__plugin_hostbridge_hostbridge__spawn_agent", False),
        ("Agent", "mcp__hostbridge__status", True),
    ],
)
def test_what_a_blocked_name_covers(blocked, tool, may):
    """A command can come in a Monitor, or in the text of a skill."""
    assert permits(None, (blocked,), tool) is may


def test_tools_of_a_list_may_have_stars():
    """What is granted by a pattern is granted as narrowly as it is written."""
    tools = ("mcp__git__get_*", "mcp__*__list")

    asked = ("mcp__git__get_log", "mcp__a__list", "mcp__git__set_log", "mcp__a__lists")
    assert [permits(tools, (), tool) for tool in asked] == [True, True, False, False]


@pytest.mark.parametrize(
    ("tool", "is_held"),
    [
        *dict.fromkeys(("Bash", "Write", "mcp__a__b", "Skill"), True).items(),
        # Whatever a newer client calls by a name that nobody knew.
        *dict.fromkeys(("RunAnything", "EnterWorktree", "Workflow"), True).items(),
        *dict.fromkeys(("Read", "TodoWrite", "Task", "ToolSearch"), False).items(),
    ],
)
def test_what_a_mode_does_not_ask_about_must_be_granted(tool, is_held):
    run = {"allow": ["Bash(ls)"]}
    fields = {"tool_name": tool, "permission_mode": "bypassPermissions"}

    assert is_unasked(run, fields) is is_held
    assert not is_unasked(run, fields | {"permission_mode": "default"})
    assert not is_unasked({}, fields)


def test_what_outlasts_the_agent_has_to_be_named(world):
    """A plan of it is a prompt of the main thread, with all that the session may."""
    agent = started(world, "")

    said, _ = use(world, agent, "CronCreate")

    assert "ends with its request, which keeps CronCreate from it" in said
    assert permits(("Cron*",), (), "CronCreate")


@pytest.mark.parametrize(
    ("name", "tool"),
    [("KillShell", "TaskStop"), ("ReadMcpResource", "ReadMcpResourceTool")],
)
def test_a_tool_by_its_older_name(world, name, tool):
    """A model may call it by either name; hooks see one."""
    agent = started(world, f"blocked_tools: [{name}]\n")

    assert f"keeps {tool} from it" in use(world, agent, tool)[0]


# Turns


def test_calls_of_one_message_share_the_turns(world):
    """Their hooks run at the same time, and none has seen another's note."""
    agent = started(world, "max_turns: 3\n")
    use(world, agent, "Read")
    [run] = world.runs()

    def call(number):
        event = {"tool_use_id": f"at-once-{number}"}
        return before_tool(agents_of(world), event, run.to_data(), agent, "Read")

    with ThreadPoolExecutor(8) as pool:
        ran = sum(pool.map(call, range(24)))

    assert ran <= 2
    assert len(tool_calls.seen_calls(world.store, agent)) == 1 + ran


def test_a_message_of_many_calls_is_one_warning(world):
    """The agent has heard of nothing until all of them are over."""
    agent = started(world, "max_turns: 1\n")
    use(world, agent, "Read")
    [run] = world.runs()
    for message in range(3):
        world.says(agent, f"m{message}", *(f"t{message}{n}" for n in range(4)))

    ended = []
    for message in range(3):
        calls = [use(world, agent, "Read", f"{message}{n}") for n in range(4)]
        ended.append([goes_on for _, goes_on in calls])

    assert ended == [[True] * 4, [True] * 4, [False] * 4]
    assert world.code(run.request_id) == "turn_limit"  # type: ignore[arg-type]


def test_calls_of_agent_are_turns(world):
    """Each agent that it starts has as many turns as itself."""
    agent = started(world, "max_turns: 2\n")

    given = {"prompt": "x", "description": "y"}
    said = [str(use(world, agent, "Agent", n, **given)[0]) for n in range(3)]

    refused = ["tool calls of this request" in reason for reason in said]
    assert refused == [False, False, True]


# Evidence


def test_a_command_that_only_began_is_no_proof(world):
    """A Monitor says that it runs, not how its command ended."""
    agent = started(world, "require_verified_evidence: true\n")
    call = {"tool_use_id": "m-1", "tool_input": {"command": "pytest"}}
    world.use(agent, "Bash", **call)
    world.use(agent, "Monitor", **call)
    response = {"taskId": "b1", "timeoutMs": 5000, "persistent": False}
    event = world.event(
        "x", agent_id=agent, tool_name="Monitor", tool_response=response, **call
    )
    after_bash(agents_of(world), event, agent, ok=True)
    item = {"type": "command_output", "content": "ok", "command": "pytest"}

    words = {"status": "success", "summary": "s", "evidence": [item]}
    said = world.stop(agent, json.dumps(words), background_tasks=[])

    assert tool_calls.background_commands(world.store, agent) == {"b1"}
    assert "success needs evidence" in said["reason"]


# Agents that no call of Agent starts


def skill_of(world: HookWorld, agent: str) -> str:
    """The agent as which a skill runs that an agent uses."""
    inner = world.start("none", below=agent)
    notes = world.transcripts / world.session / "subagents"
    meta = {"agentType": "general-purpose", "parentAgentId": agent}
    (notes / f"agent-{inner}.meta.json").write_text(json.dumps(meta))
    return inner


def test_a_skill_that_runs_as_an_agent_may_no_more(world):
    agent = started(world, "tools: [Read, Skill]\n")
    use(world, agent, "Skill", skill="x")
    inner = skill_of(world, agent)

    assert use(world, inner, "Read", 1) == (None, True)
    reason, goes_on = use(world, inner, "Bash", 2)
    assert "keeps Bash from it" in reason
    assert goes_on
    assert world.permission(inner)["behavior"] == "deny"

    world.stop(inner, "done")
    world.stop(agent, GOOD)

    assert [run.agent_id for run in world.runs()] == [agent]
    assert world.code(world.runs()[0].request_id) == "success"  # type: ignore[arg-type]


def test_skills_in_skills_go_no_deeper_than_the_limit(world):
    agent = started_agent = world.begin()[2]
    world.use(started_agent)

    said = []
    for _ in range(3):
        agent = skill_of(world, agent)
        said.append(world.use(agent).get("continue", True))

    assert said == [True, True, False]


# An agent that the client has not named


def test_an_agent_is_held_back_until_the_client_names_it(world):
    """Unbound, it could do everything: it may be the one that was just launched."""
    agent = started(world, "tools: [Read]\n")
    meta = world.transcripts / world.session / "subagents" / f"agent-{agent}.meta.json"
    text = meta.read_text()
    meta.unlink()

    held, goes_on = use(world, agent, "Bash")
    asked = world.permission(agent)["behavior"]
    meta.write_text(text)

    assert "make the same call again" in held.casefold()
    assert (goes_on, asked) == (True, "deny")
    assert "keeps Bash from it" in use(world, agent, "Bash", 1)[0]


def test_somebody_elses_agent_waits_for_nobody(world):
    """No call of ours waits for its agent: then this one cannot be it."""
    world.working()

    assert world.use("other", "Bash") == {}


def test_granted_writing_does_not_reach_our_own_state(world):
    """The record of the agent's own limits is there."""
    agent = started(world, "allow: [Write, 'Edit(//**)']\n")
    [run] = world.runs()
    record = f"{agents_of(world)}{run.tool_use_id}.json"

    asked = [
        world.permission(agent, tool, file_path=path)["behavior"]
        for tool, path in (("Write", record), ("Edit", record), ("Write", "a.py"))
    ]

    assert asked == ["deny", "deny", "allow"]
