"""start_agent: from the open session, from one of its agents, from another program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
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


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"mode": "self"}, "bad_request: mode self: this version runs no workflows"),
        ({"workflow": "tdd"}, "bad_request: workflow 'tdd': this version runs no work"),
        ({"agent": "revewer"}, "agent_missing: no agent is named 'revewer'"),
        ({"promt": "x"}, "bad_request: start_agent has no argument 'promt'; did you"),
        ({"timeout_s": -1}, "bad_request: timeout_s -1: expected seconds"),
        ({"model": "gpt"}, "bad_request: an open session knows no model 'gpt'"),
        ({"mode": "headless", "model": "x.gguf"}, "bad_request: model 'x.gguf'"),
        ({"schema": {"type": "objekt"}}, "bad_request: the schema is not a JSON Sche"),
        ({"prompt": " "}, "bad_request: the prompt is empty"),
        ({"agent": "../../etc/passwd"}, "agent_missing: no agent is named"),
    ],
    ids=str,
)
def test_error_what_cannot_be_started(world: HookWorld, arguments, says):
    """It says why, with our code, and nothing is left behind."""

    async def steps(client: Client) -> None:
        task = {"prompt": "Count.", **arguments}
        refused = await call_from(world, client, "start_agent", task)

        assert refused.is_error
        assert text_of(refused).startswith(says)
        assert world.bridge.overview().requests == ()

    run(steps, world.project)
