"""What the user set, a model of the session does not undo or raise."""

import json

import pytest
from hostworld import bash, host_world

from bridge.testing.stage.replies import reply


@pytest.mark.parametrize("by", ["the main thread", "an agent"])
def test_a_command_for_the_user_is_denied(world, by):
    agent = world.working()[1] if by == "an agent" else None
    fields = {"agent_id": agent} if agent else {}

    def decided(command: str) -> str | None:
        said = world.say(
            "PreToolUse", tool_name="Bash", tool_input={"command": command}, **fields
        )
        return said.get("hookSpecificOutput", {}).get("permissionDecisionReason")

    assert decided("cd /p && hostbridge config set slots 9") == (
        "hostbridge: `hostbridge config set` is for the user, in a terminal of their "
        "own: a model must not undo or raise what its user set. Ask them to run it."
    )
    assert decided("hostbridge config set --project share_conversation true")
    assert decided("hostbridge config get slots") is None
    assert decided("ls bridge") is None


@pytest.mark.host
def test_the_client_asks_about_our_commands(tmp_path):
    """And runs the others; without rules of its own, as in bypassPermissions."""
    commands = ["hostbridge on", "bash -c 'hostbridge trust'", "echo bridged"]
    todo = list(commands)

    def script(_request):
        return bash(todo.pop(0)) if todo else reply("done")

    with host_world(tmp_path, script) as world:
        world.allow("Bash")
        assert world.print().exit_code == 0
        words = json.loads(world.main_words())[-1]

    results = [
        part["content"]
        for message in words
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "tool_result"
    ]
    said = [json.dumps(result) for result in results]
    assert "`hostbridge on` is for the user" in said[0]
    assert "`hostbridge trust` is for the user" in said[1]
    assert "bridged" in said[2]
