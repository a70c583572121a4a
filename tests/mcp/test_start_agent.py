"""start_agent: from the open session, from one of its agents, from another program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hookworld import GOOD
from mcpworld import call_from, run, text_of

if TYPE_CHECKING:
    from hookworld import HookWorld
    from mcp.client import Client


def test_the_main_thread_gets_the_offer(world: HookWorld):
    """It cannot wait for itself: what it must do is the result."""

    async def steps(client: Client) -> None:
        task = {"prompt": "Count.", "task_id": "t-1"}
        started = await call_from(world, client, "start_agent", task)

        told = started.structured_content
        assert told is not None
        assert not started.is_error
        assert told["stage"] == "offered"
        assert f"bridge:{told['request_id']}" in told["next"]
        assert told["next"] in text_of(started)

        agent = world.start(world.launch(told["request_id"]))
        world.use(agent)
        world.stop(agent, GOOD)
        waited = await call_from(
            world, client, "wait_for_agent", {"request_id": told["request_id"]}
        )

        answer = waited.structured_content
        assert answer is not None
        assert (answer["success"], answer["task_id"]) == (True, "t-1")
        assert answer["answer"]["summary"] == "s"

    run(steps, world.project)


def test_nobody_else_is_asked_to_start_it(world: HookWorld):
    """One call, one agent: no notice repeats what the result has said."""

    async def steps(client: Client) -> None:
        await call_from(world, client, "start_agent", {"prompt": "Count."})

        assert world.say("PostToolUse", tool_name="mcp__hostbridge__start_agent") == {}

    run(steps, world.project)


def test_a_call_that_no_hook_has_seen_is_refused(world: HookWorld):
    """Nobody knows whose agent makes it."""

    async def steps(client: Client) -> None:
        refused = await client.call_tool(
            "start_agent",
            {"prompt": "Count."},
            meta={"claudecode/toolUseId": "toolu_unseen"},  # type: ignore[typeddict-unknown-key]
        )

        assert refused.is_error
        assert text_of(refused).startswith("unknown_caller: no hook of hostbridge has")
        assert world.bridge.overview().requests == ()

    run(steps, world.project)


def test_another_program_waits_for_the_session(world: HookWorld):
    """An editor beside the session asks as the command line does."""

    async def steps(client: Client) -> None:
        task = {"prompt": "Count.", "wait": False}
        started = await client.call_tool("spawn_agent", task)

        told = started.structured_content
        assert told is not None
        assert (told["stage"], told["next"]) == ("waiting", None)
        said = world.say("UserPromptSubmit", prompt="hello")
        assert told["request_id"] in str(said)

    run(steps, world.project, CLAUDE_PID="")


def test_error_a_program_below_the_only_session_would_wait_for_itself(
    world: HookWorld,
):
    """No hook sees its call, so nobody can be told to start the agent."""

    async def steps(client: Client) -> None:
        refused = await client.call_tool("start_agent", {"prompt": "Count."})

        assert text_of(refused).startswith("cannot_wait: this runs inside the only")

    run(steps, world.project)


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


def test_error_what_cannot_be_started(world: HookWorld):
    """It says why, with our code, and nothing is left behind."""

    async def steps(client: Client) -> None:
        for arguments, says in REFUSALS:
            task = {"prompt": "Count.", **arguments}
            refused = await call_from(world, client, "start_agent", task)
            assert refused.is_error
            assert text_of(refused).startswith(says)
        assert world.bridge.overview().requests == ()

    run(steps, world.project)


def test_an_agent_of_ours_starts_the_next_one_itself(world: HookWorld):
    """It has the tool Agent, and the answer comes back to it."""
    request, agent = world.working()

    async def steps(client: Client) -> None:
        started = await call_from(
            world, client, "start_agent", {"prompt": "Count."}, agent=agent
        )
        told = started.structured_content
        assert told is not None, text_of(started)
        token = f"bridge:{told['request_id']}"
        assert token in told["next"]
        allowed = world.call_agent(token, agent_id=agent)
        assert allowed["permissionDecision"] == "allow"
        found = world.bridge.status(told["request_id"])
        assert found.request is not None
        assert (found.request.parent_request_id, found.request.depth) == (request, 1)

    run(steps, world.project)


def test_an_agent_starts_nothing_that_others_have_asked(world: HookWorld):
    """That is for the main thread, which is free: the agent may wait for it."""
    _, agent = world.working()
    others = world.submit("Count.")

    async def steps(client: Client) -> None:
        asked = {"request_id": others, "timeout_s": 0}
        waited = await call_from(world, client, "wait_for_agent", asked, agent=agent)
        told = waited.structured_content
        assert told is not None, text_of(waited)
        assert (told["stage"], told["next"]) == ("waiting", None)

    run(steps, world.project)


def test_an_agent_without_the_tool_waits_for_the_session(world: HookWorld):
    """Its main thread is free while the agent works in the background."""
    folder = world.home / ".hostbridge" / "agents"
    folder.mkdir(parents=True)
    (folder / "bound.yaml").write_text("name: bound\nblocked_tools: [Agent]\n")
    _, call, agent = world.begin(agent="bound")
    launched = {"isAsync": True, "status": "async_launched", "agentId": agent}
    world.say(
        "PostToolUse", tool_name="Agent", tool_use_id=call, tool_response=launched
    )
    world.use(agent)

    async def steps(client: Client) -> None:
        task = {"prompt": "Count.", "wait": False}
        started = await call_from(world, client, "start_agent", task, agent=agent)
        told = started.structured_content
        assert told is not None, text_of(started)
        assert (told["stage"], told["next"]) == ("waiting", None)
        assert told["request_id"] in str(world.say("UserPromptSubmit", prompt="go on"))

    run(steps, world.project)


def test_a_wait_for_oneself_says_what_to_do(world: HookWorld):
    """What was offered, and not started yet, would never end."""

    async def steps(client: Client) -> None:
        started = await call_from(world, client, "start_agent", {"prompt": "Count."})
        told = started.structured_content
        assert told is not None
        waited = await call_from(
            world, client, "wait_for_agent", {"request_id": told["request_id"]}
        )
        assert waited.structured_content == told

    run(steps, world.project)


def test_error_no_session_is_open(world: HookWorld):
    """The way out is one that a caller of tools can go."""
    world.fire("SessionEnd", reason="other")

    async def steps(client: Client) -> None:
        refused = await client.call_tool("start_agent", {"prompt": "Count."})
        assert text_of(refused).startswith("no_host: no Claude Code session with host")
        assert 'What to do: call it again with mode "headless"; start' in text_of(
            refused
        )
        assert "--route" not in text_of(refused)

    run(steps, world.project, CLAUDE_PID="")


def test_error_switched_off(world: HookWorld):
    """`hostbridge off` stops this, too."""

    async def steps(client: Client) -> None:
        for mode in ("terminal", "headless"):
            task = {"prompt": "Count.", "mode": mode}
            refused = await call_from(world, client, "start_agent", task)
            assert text_of(refused).startswith("no_host: hostbridge is off in this")

    run(steps, world.project, BRIDGE_OFF="1")


def test_error_an_agent_that_failed(world: HookWorld):
    """No answer is an error, with its code, the way out, and the record."""

    async def steps(client: Client) -> None:
        task = {"prompt": "Count.", "timeout_s": 1}
        late = await client.call_tool("start_agent", task)
        told = late.structured_content
        assert late.is_error
        assert told is not None
        assert (told["status"], told["error"]["code"]) == ("timeout", "timeout")
        assert "see all of it: hostbridge show" in text_of(late)
        assert told["resource"] == f"hostbridge://requests/{told['request_id']}"

    run(steps, world.project, CLAUDE_PID="")


def test_a_long_answer_is_a_resource(world: HookWorld):
    """No answer fills a context: the record has all of it."""
    answer = {"status": "success", "summary": "s" * 100_000}

    async def steps(client: Client) -> None:
        started = await call_from(world, client, "start_agent", {"prompt": "Count."})
        assert started.structured_content is not None
        request_id = started.structured_content["request_id"]
        agent = world.start(world.launch(request_id))
        world.stop(agent, json.dumps(answer))
        asked = {"request_id": request_id}
        waited = await call_from(world, client, "wait_for_agent", asked)

        told = waited.structured_content
        assert told is not None
        assert (told["success"], told["answer"]) == (True, None)
        assert told["next"] == f"The answer is long: read {told['resource']}"
        (whole,) = (await client.read_resource(told["resource"])).contents
        assert "s" * 100_000 in whole.text  # type: ignore[union-attr]

    run(steps, world.project)
