"""What hooks do inside subagents, ours and others'."""

from __future__ import annotations

import json

from hookworld import GOOD, HookWorld


def test_hooks_in_a_subagent_stay_silent(world: HookWorld) -> None:
    world.submit()

    silent = [
        world.say("PostToolUse", agent_id="other", tool_name="Read", tool_use_id="t"),
        world.say("PreToolUse", agent_id="other", tool_name="Read", tool_use_id="t"),
        world.say("PermissionRequest", agent_id="other", tool_name="Bash"),
        world.say("SubagentStop", agent_id="other", last_assistant_message=GOOD),
    ]

    assert silent == [{}, {}, {}, {}]
    assert len(world.store.waiting()) == 1


def test_error_token_in_a_subagent(world: HookWorld) -> None:
    """Only the main thread launches: an agent that reads a token may not use it."""
    request = world.submit()
    given = {"description": "b", "prompt": f"bridge:{request}"}

    said = world.say(
        "PreToolUse",
        agent_id="other",
        tool_name="Agent",
        tool_input=given,
        tool_use_id="t",
    )

    assert said["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": (
            "hostbridge tokens are for the main conversation only."
        ),
    }


def test_agents_of_agents_go_no_deeper_than_the_limit(world: HookWorld) -> None:
    """A, B below it, C below that; D is refused. None of them may raise a dialog."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    agent = world.start(world.launch(request))
    given = {"description": "n", "prompt": "work"}

    refused = []
    for level in range(3):
        asked = world.say("PermissionRequest", agent_id=agent, tool_name="Bash")
        decision = asked["hookSpecificOutput"]["decision"]
        assert decision["behavior"] == "deny"
        call = f"toolu_nested_{level}"
        said = world.say(
            "PreToolUse",
            agent_id=agent,
            tool_name="Agent",
            tool_input=given,
            tool_use_id=call,
        )
        decided = said["hookSpecificOutput"].get("permissionDecision")
        refused.append(decided == "deny")
        agent = world.start(call)

    assert refused == [False, False, True]


def test_an_agent_that_its_caller_waits_for_is_not_listed(world: HookWorld) -> None:
    """It runs on, and may still not raise a dialog."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    agent = world.start(world.launch(request))
    call = {"tool_name": "Agent", "tool_input": {"prompt": "n", "description": "n"}}
    world.say("PreToolUse", agent_id=agent, tool_use_id="nested", **call)
    nested = world.start("nested")
    _make_older(world, nested)

    running = [{"id": agent, "type": "subagent", "status": "running"}]
    world.say("Stop", background_tasks=running)
    asked = world.say("PermissionRequest", agent_id=nested, tool_name="Bash")

    assert asked["hookSpecificOutput"]["decision"]["behavior"] == "deny"


def _make_older(world: HookWorld, agent: str) -> None:
    world.fire("PreToolUse", agent_id=agent, tool_name="Read", tool_use_id="t")
    file = world.store.place.state / "agents" / f"{agent}.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "launchedAt": 1}))


def test_a_cancelled_request_ends_the_agents_of_its_agent(world: HookWorld) -> None:
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    agent = world.start(world.launch(request))
    call = {"tool_name": "Agent", "tool_input": {"prompt": "n", "description": "n"}}
    world.say("PreToolUse", agent_id=agent, tool_use_id="nested", **call)
    nested = world.start("nested")
    world.bridge.cancel(request)

    said = world.say("PreToolUse", agent_id=nested, tool_name="Read", tool_use_id="t")

    assert said["continue"] is False
    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
