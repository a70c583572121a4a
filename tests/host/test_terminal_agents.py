"""At a terminal: no dialog, no surprise, nothing that a user did not type."""

import json

import pytest
from hostworld import DIALOG, bash, code_of, host_world, named
from polling import wait_until

from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host


@pytest.mark.parametrize("mode", ["default", "auto"])
def test_an_idle_session_is_woken_and_the_user_sees_two_lines(tmp_path, mode):
    """One when a request arrives, with who asks; one when it is answered."""
    with host_world(tmp_path) as world:
        with world.terminal(mode=mode) as terminal:
            terminal.type("half a thought")
            request = world.submit()
            response = world.ended(request)
            world.wait_until_forgotten()
            terminal.wait_for_text("answered after")
            history, screen = terminal.history(), terminal.screen()

    assert response.success
    assert "hostbridge: a test asks general-purpose" in history
    assert f"hostbridge: {request} answered after" in history
    assert "done on the stage" not in history
    assert "half a thought" in screen


def test_what_is_not_granted_is_denied_without_a_dialog(tmp_path):
    """The agent, or one of its own, is told why, and still answers.

    What the user types stays typed.
    """
    inner = {"prompt": "inner", "description": "n", "subagent_type": "general-purpose"}

    def answers(prompt, request):
        if "is not granted" in request.newest_text:
            _, mark, told = request.newest_text.partition("Bash is not granted")
            words = f"{mark}{told[:3000]}"
            output = {"status": "blocked", "summary": words}
            return reply(words if prompt.startswith("inner") else json.dumps(output))
        if named("calling") in prompt:
            # At a terminal agents are always in the background: wait for it.
            if request.own_calls:
                return bash("sleep 0.3")
            return reply(tool_use("Agent", inner))
        return bash("touch made")

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.allow("Bash(sleep:*)")
        with world.terminal() as terminal:
            terminal.type("1")
            requests = [world.submit(named(name)) for name in ("working", "calling")]
            responses = [world.ended(request) for request in requests]
            world.wait_until_forgotten()
            history = terminal.history()

    for response in responses:
        assert code_of(response) == "agent_blocked"
        assert "Bash is not granted to this agent" in response.parsed_output["summary"]
    assert not (world.stage.project / "made").exists()
    assert not any(words in history for words in DIALOG)


def test_the_user_stops_an_agent(tmp_path):
    """By the keys that stop all background agents: the caller hears at once."""
    slow = reply("late", delay_s=600)
    with host_world(tmp_path, obedient_model(answering(slow))) as world:
        request = world.submit()
        with world.terminal() as terminal:
            world.wait_for_run(request)
            world.wait_for_turns(2)

            def stopped():
                terminal.key("C-x")
                terminal.key("C-k")
                return world.stage_of(request) != "running"

            wait_until(stopped)
            response = world.ended(request)
            terminal.wait_for_text(f"{request} agent_stopped after")

    assert code_of(response) == "agent_stopped"
    assert len(world.api.turns("main")) == 2
