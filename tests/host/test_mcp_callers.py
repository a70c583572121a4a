"""PreToolUse of our own MCP tools: the server learns who calls."""

import json
import re

import pytest
from hookprocesses import INSTALLED

from bridge.host.hook_table import HOOKS, entries
from bridge.policy.tool_classes import is_own
from bridge.store.tool_calls import Agent, SessionAgent, caller_of

OWN = ["mcp__hostbridge__status", "mcp__plugin_hostbridge_hostbridge__start_agent"]


@pytest.mark.parametrize("tool", OWN)
@pytest.mark.parametrize("agent", ["", "agent-7"])
def test_a_call_of_ours_is_written_down(world, tool, agent):
    who = {"agent_id": agent, "agent_type": "Explore"} if agent else {}

    said = world.say(
        "PreToolUse", tool_name=tool, tool_input={}, tool_use_id="toolu_1", **who
    )

    assert said == {}
    assert caller_of(world.store, "toolu_1") == SessionAgent(
        "session-1", Agent(agent_id=agent, agent_type="Explore" if agent else "")
    )


def test_a_call_of_ours_is_written_down_although_rules_look_at_it(world):
    world.home.joinpath(".hostbridge").mkdir(mode=0o700, exist_ok=True)
    rules = world.home / ".hostbridge" / "rules.yaml"
    rules.write_text("on_before_tool:\n  - when: tool_name\n    inject_context: hm\n")

    said = world.say(
        "PreToolUse", tool_name=OWN[0], tool_input={}, tool_use_id="toolu_1"
    )

    assert "hm" in json.dumps(said)
    assert caller_of(world.store, "toolu_1") == SessionAgent("session-1", Agent())


def test_calls_of_others_are_not(world):
    for number, tool in enumerate(("Bash", "mcp__github__hostbridge__x", "Read")):
        world.say(
            "PreToolUse",
            tool_name=tool,
            tool_input={"command": "ls"},
            tool_use_id=f"toolu_{number}",
        )
        assert not is_own(tool)
        assert caller_of(world.store, f"toolu_{number}") is None


@pytest.mark.parametrize("tool", [*OWN, "mcp__github__x", "WebFetch"])
def test_one_hook_sees_a_call_begin(tool):
    """Ours alone start the library each time; a call of other tools costs nothing."""
    found = [
        hook
        for hook in HOOKS
        if hook.event == "PreToolUse" and re.fullmatch(hook.matcher or "", tool)
    ]

    script = "always" if is_own(tool) else "tool-start"
    assert [hook.script for hook in found] == [script]
    assert len(entries(INSTALLED)["PreToolUse"]) == 9
