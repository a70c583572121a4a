"""At a terminal: no dialog, no surprise, nothing that a user did not type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hostworld import host_world, wait_until
from stage.models import agent_output, answering, obedient_model
from stage.replies import reply, tool_use

if TYPE_CHECKING:
    from pathlib import Path

    from stage.replies import Answer
    from stage.turns import ApiRequest

pytestmark = pytest.mark.host

# What a permission dialog of the client looks like.
DIALOG = ("Do you want", "Esc to cancel", "❯ 1. Yes")


@pytest.mark.parametrize("mode", ["default", "auto"])
def test_an_idle_session_is_woken_and_the_user_sees_two_lines(
    tmp_path: Path, mode: str
) -> None:
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


@pytest.mark.parametrize("nested", [False, True], ids=["own", "of its agent"])
def test_what_is_not_granted_is_denied_without_a_dialog(
    tmp_path: Path, *, nested: bool
) -> None:
    """The agent is told why, and still answers; what the user types stays typed."""
    bash = reply(tool_use("Bash", {"command": "touch made", "description": "m"}))
    inner = {"prompt": "inner", "description": "n", "subagent_type": "general-purpose"}
    delegate = reply(tool_use("Agent", {**inner, "run_in_background": False}))

    def answers(prompt: str, request: ApiRequest) -> Answer:
        if not request.own_calls:
            return delegate if nested and not prompt.startswith("inner") else bash
        heard = " ".join(result.text for result in request.tool_results)
        if prompt.startswith("inner"):
            return reply(heard)
        return reply(json.dumps({"status": "blocked", "summary": heard[-600:]}))

    with host_world(tmp_path, obedient_model(answers)) as world:
        with world.terminal() as terminal:
            terminal.type("1")
            request = world.submit()
            response = world.ended(request)
            world.wait_until_forgotten()
            history = terminal.history()

    assert response.error is not None
    assert response.error.code == "agent_blocked"
    assert "Bash is not granted to this agent" in response.parsed_output["summary"]
    assert not (world.stage.project / "made").exists()
    assert not any(words in history for words in DIALOG)


def test_what_the_user_allows_runs(tmp_path: Path) -> None:
    bash = reply(tool_use("Bash", {"command": "touch made", "description": "m"}))

    with host_world(tmp_path, obedient_model(answering(bash, agent_output()))) as world:
        world.allow("Bash(touch:*)")
        with world.terminal():
            response = world.ended(world.submit())

    assert response.success
    assert (world.stage.project / "made").exists()


def test_the_user_stops_an_agent(tmp_path: Path) -> None:
    """By the keys that stop all background agents: the caller hears at once."""
    slow = reply("late", delay_s=120)
    with host_world(tmp_path, obedient_model(answering(slow))) as world:
        request = world.submit()
        with world.terminal() as terminal:
            world.wait_for_run(request)
            turns = len(world.api.turns("main"))

            def stopped() -> bool:
                terminal.key("C-x")
                terminal.key("C-k")
                return world.stage_of(request) != "running"

            wait_until(stopped)
            response = world.ended(request)
            terminal.wait_for_text(f"{request} agent_stopped after")

    assert response.error is not None
    assert response.error.code == "agent_stopped"
    assert len(world.api.turns("main")) == turns
