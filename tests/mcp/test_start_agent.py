"""start_agent: from the open session, from one of its agents, from another program."""

import json
from typing import Any

import pytest
from hookworld import GOOD
from mcpworld import call_from, run, text_of, told

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_the_main_thread_gets_the_offer(world, use):
    """It cannot wait for itself: what it must do is the result."""
    task = {"prompt": "Count.", "task_id": "t-1"}
    started = await use("start_agent", task)

    said = told(started)
    assert not started.is_error
    assert said["stage"] == "offered"
    assert f"bridge:{said['request_id']}" in said["next"]
    assert said["next"] in text_of(started)

    agent = world.start(world.launch(said["request_id"]))
    world.use(agent)
    world.stop(agent, GOOD)
    waited = await use("wait_for_agent", {"request_id": said["request_id"]})

    answer = waited.structured_content
    assert (answer["success"], answer["task_id"]) == (True, "t-1")
    assert answer["answer"]["summary"] == "s"


async def test_nobody_else_is_asked_to_start_it(world, use):
    """One call, one agent: no notice repeats what the result has said."""
    await use("start_agent", {"prompt": "Count."})

    assert world.say("PostToolUse", tool_name="mcp__hostbridge__start_agent") == {}


async def test_a_call_that_no_hook_has_seen_is_refused(world, client):
    """Nobody knows whose agent makes it."""
    refused = await client.call_tool(
        "start_agent",
        {"prompt": "Count."},
        meta={"claudecode/toolUseId": "toolu_unseen"},
    )

    assert refused.is_error
    assert text_of(refused).startswith("unknown_caller: no hook of hostbridge has")
    assert world.bridge.overview().requests == ()


async def test_another_program_waits_for_the_session(world, outsider):
    """An editor beside the session asks as the command line does."""
    task = {"prompt": "Count.", "wait": False}
    started = told(await outsider.call_tool("spawn_agent", task))
    assert (started["stage"], started["next"]) == ("waiting", None)
    said = world.say("UserPromptSubmit", prompt="hello")
    assert started["request_id"] in str(said)


async def test_error_a_program_below_the_only_session_would_wait_for_itself(client):
    """No hook sees its call, so nobody can be told to start the agent."""
    refused = await client.call_tool("start_agent", {"prompt": "Count."})

    assert text_of(refused).startswith("cannot_wait: this runs inside the only")


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"mode": "self"}, "bad_request: mode self is for a workflow: name one"),
    ({"agent": "researcher", "workflow": "tdd"}, "bad_request: agent 'researcher' has"),
    ({"agent": "revewer"}, "agent_missing: no agent is named 'revewer'"),
    ({"promt": "x"}, "bad_request: start_agent has no argument 'promt'; did you"),
    ({"timeout_s": -1}, "bad_request: timeout_s -1: expected seconds"),
    ({"model": "gpt"}, "bad_request: an open session knows no model 'gpt'"),
    ({"mode": "headless", "model": "x.gguf"}, "bad_request: model 'x.gguf'"),
    ({"schema": {"type": "objekt"}}, "bad_request: the schema is not a JSON Sche"),
    ({"prompt": " "}, "bad_request: the prompt is empty"),
    ({"prompt": 3}, "bad_request: start_agent: prompt: expected a string"),
    ({"timeout_s": "x"}, "bad_request: start_agent: timeout_s: expected a number"),
    ({"variables": "x"}, "bad_request: start_agent: variables: expected an object"),
    ({"agent": "../../etc/passwd"}, "agent_missing: no agent is named"),
]


async def test_error_what_cannot_be_started(world, use):
    """It says why, with our code, and nothing is left behind."""
    for arguments, says in REFUSALS:
        task = {"prompt": "Count.", **arguments}
        refused = await use("start_agent", task)
        assert refused.is_error
        assert text_of(refused).startswith(says)
    assert world.bridge.overview().requests == ()


async def test_an_agent_of_ours_starts_the_next_one_itself(world, use):
    """It has the tool Agent, and the answer comes back to it."""
    request, agent = world.working()

    started = told(await use("start_agent", {"prompt": "Count."}, agent=agent))
    token = f"bridge:{started['request_id']}"
    assert token in started["next"]
    allowed = world.call_agent(token, agent_id=agent)
    assert allowed["permissionDecision"] == "allow"
    found = world.bridge.status(started["request_id"])
    assert (found.request.parent_request_id, found.request.depth) == (request, 1)


async def test_an_agent_starts_nothing_that_others_have_asked(world, use):
    """That is for the main thread, which is free: the agent may wait for it."""
    _, agent = world.working()
    others = world.submit("Count.")

    asked = {"request_id": others, "timeout_s": 0}
    started = told(await use("wait_for_agent", asked, agent=agent))
    assert (started["stage"], started["next"]) == ("waiting", None)


async def test_an_agent_without_the_tool_waits_for_the_session(world, use):
    """Its main thread is free while the agent works in the background."""
    world.define("bound", "blocked_tools: [Agent]\n")
    _, call, agent = world.begin(agent="bound")
    launched = {"isAsync": True, "status": "async_launched", "agentId": agent}
    world.say(
        "PostToolUse", tool_name="Agent", tool_use_id=call, tool_response=launched
    )
    world.use(agent)

    task = {"prompt": "Count.", "wait": False}
    started = told(await use("start_agent", task, agent=agent))
    assert (started["stage"], started["next"]) == ("waiting", None)
    assert started["request_id"] in str(world.say("UserPromptSubmit", prompt="go on"))


async def test_a_wait_for_oneself_says_what_to_do(use):
    """What was offered, and not started yet, would never end."""
    started = told(await use("start_agent", {"prompt": "Count."}))
    waited = await use("wait_for_agent", {"request_id": started["request_id"]})
    assert waited.structured_content == started


async def test_error_no_session_is_open(world, outsider):
    """The way out is one that a caller of tools can go."""
    world.fire("SessionEnd", reason="other")

    refused = await outsider.call_tool("start_agent", {"prompt": "Count."})
    assert text_of(refused).startswith("no_host: no Claude Code session with host")
    assert 'What to do: call it again with mode "headless"; start' in text_of(refused)
    assert "--route" not in text_of(refused)


def test_error_switched_off(world):
    """`hostbridge off` stops this, too."""

    async def steps(client):
        for mode in ("terminal", "headless"):
            task = {"prompt": "Count.", "mode": mode}
            refused = await call_from(world, client, "start_agent", task)
            assert text_of(refused).startswith("no_host: hostbridge is off in this")

    run(steps, world.project, BRIDGE_OFF="1")


async def test_error_an_agent_that_failed(outsider):
    """No answer is an error, with its code, the way out, and the record."""
    task = {"prompt": "Count.", "timeout_s": 1}
    late = await outsider.call_tool("start_agent", task)
    said = told(late)
    assert late.is_error
    assert (said["status"], said["error"]["code"]) == ("timeout", "timeout")
    assert "see all of it: hostbridge show" in text_of(late)
    assert said["resource"] == f"hostbridge://requests/{said['request_id']}"


async def test_a_long_answer_is_a_resource(world, use, client):
    """No answer fills a context: the record has all of it."""
    answer = {"status": "success", "summary": "s" * 100_000}

    started = await use("start_agent", {"prompt": "Count."})
    request_id = started.structured_content["request_id"]
    agent = world.start(world.launch(request_id))
    world.stop(agent, json.dumps(answer))
    asked = {"request_id": request_id}
    started = told(await use("wait_for_agent", asked))
    assert (started["success"], started["answer"]) == (True, None)
    assert started["next"] == f"The answer is long: read {started['resource']}"
    (whole,) = (await client.read_resource(started["resource"])).contents
    assert "s" * 100_000 in whole.text
