"""Every way in which a subagent ends: a typed response at once.

One table, in the foreground (one shot) and in the background (a session that stays
open), with the real client.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hostworld import (
    HostWorld,
    bash,
    bash_until_go,
    code_of,
    host_world,
    stopping,
)
from polling import wait_until

from bridge.store.subagent_runs import all_runs
from bridge.testing.stage.models import agent_output, answering, obedient_model
from bridge.testing.stage.replies import error, reply, tool_use

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.testing.stage.replies import Answer
    from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

HOWS = ("one-shot", "stream")
# What follows a failed one is in test_tries_in_the_client.py.
ONE_TRY: dict[str, Any] = {"max_attempts": 1, "wait_quota": False}
CALL = tool_use("Bash", {"command": "touch made", "description": "work"})
WORK = reply(CALL)
BAD_REQUEST = error(400, "invalid_request_error", "Not like that")
RATE_LIMIT = error(429, "rate_limit_error", "Slow down")
SERVER_ERROR = error(500, "api_error", "Sorry")


def denied(world: HostWorld) -> None:
    output: dict[str, Any] = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "policy",
    }
    world.add_command("PreToolUse", says(hookSpecificOutput=output), "Agent")


def cut_off(world: HostWorld) -> None:
    world.add_command(
        "PreToolUse", says(**{"continue": False, "stopReason": "enough"}), "Bash"
    )


def interrupted(world: HostWorld) -> None:
    decision = {"behavior": "deny", "message": "no", "interrupt": True}
    output = {"hookEventName": "PermissionRequest", "decision": decision}
    world.add_command("PermissionRequest", says(hookSpecificOutput=output))


def few_turns(world: HostWorld) -> None:
    world.add_agent("hasty", "maxTurns: 2\ntools: Bash\n")


def as_it_is(_world: HostWorld) -> None:
    pass


def says(**output: object) -> str:
    """A command that prints one JSON object."""
    return f"cat >/dev/null; echo '{json.dumps(output)}'"


ENDS: dict[str, tuple[Answer, Callable[[HostWorld], None], str, str | None]] = {
    # what the subagent does, what else is installed, its type, how the request ends
    "answer": (agent_output(), as_it_is, "general-purpose", None),
    "no word": (reply(), as_it_is, "general-purpose", "empty_answer"),
    "continue false": (WORK, cut_off, "general-purpose", "empty_answer"),
    "max turns": (reply("Soon.", CALL), few_turns, "hasty", "no_json"),
    "bad request": (BAD_REQUEST, as_it_is, "general-purpose", "agent_error"),
    "rate limit": (RATE_LIMIT, as_it_is, "general-purpose", "quota"),
    "server error": (SERVER_ERROR, as_it_is, "general-purpose", "agent_error"),
    "unknown agent": (agent_output(), as_it_is, "nobody:knows", "agent_missing"),
    "call denied": (agent_output(), denied, "general-purpose", "agent_error"),
    "interrupted": (WORK, interrupted, "general-purpose", "agent_stopped"),
}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("end", ENDS)
def test_an_end_is_a_typed_response(tmp_path, how, end):
    answer, prepare, agent, code = ENDS[end]

    with host_world(tmp_path, obedient_model(answering(answer))) as world:
        prepare(world)
        response = world.serve(how, agent=agent, **ONE_TRY)

    assert code_of(response) == code, response


def test_an_agent_that_the_model_stops(tmp_path):
    """TaskStop: the notice says killed, and nothing else does."""
    slow = reply("late", delay_s=600)
    with host_world(tmp_path, obedient_model(answering(slow), main=stopping)) as world:
        request = world.submit()
        with world.stream() as session:
            run = world.wait_for_run(request)
            session.send(f"stop {run.agent_id}")
            response = world.ended(request)

    assert code_of(response) == "agent_stopped"


def test_an_agent_waits_for_a_command_of_its_own(tmp_path):
    """It stops, is woken when the command ends, and answers then: once, and unheard."""

    def answers(_prompt: str, request: ApiRequest) -> Answer:
        if not request.own_calls:
            return bash_until_go()
        if "completed" in request.newest_text:
            return agent_output()
        return reply("I am waiting.")

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.allow("Bash")
        request = world.submit()
        with world.stream() as session:
            run = world.wait_for_run(request)
            wait_until(lambda: world.run(run.agent_id).waits_for)
            session.ask("and how are you?")
            between = world.stage_of(request)
            (world.stage.project / "go").touch()
            response = world.ended(request)
            world.wait_until_forgotten()

    assert between == "running"
    assert response.success
    assert "<task-id>" not in world.main_words()


def test_an_agent_in_the_foreground_does_not_wait(tmp_path):
    """Its call ends when it stops: what it says then must be the answer."""

    def answers(_prompt: str, request: ApiRequest) -> Answer:
        if not request.own_calls:
            return bash("sleep 9", run_in_background=True)
        if "could not use this answer" in request.newest_text:
            return agent_output()
        return reply("I am waiting.")

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.allow("Bash")
        response = world.serve("one-shot")

    assert response.success


def test_one_of_two_agents_is_corrected_while_the_other_works(tmp_path):
    """The client lists both as running: only an agent's own commands make it wait."""
    is_over = threading.Event()

    def answers(prompt: str, request: ApiRequest) -> Answer:
        if prompt.startswith("slow"):
            is_over.wait(300)
            return agent_output()
        if "could not use this answer" in request.newest_text:
            return agent_output()
        return reply("Well.")

    with host_world(tmp_path, obedient_model(answers)) as world:
        slow, quick = world.submit("slow"), world.submit("quick")
        with world.stream():
            first = world.ended(quick)
            stage = world.stage_of(slow)
            is_over.set()
            second = world.ended(slow)

    assert (first.success, stage, second.success) == (True, "running", True)


@pytest.mark.parametrize("background", [False, True], ids=["waited for", "left"])
def test_agents_of_our_agents_are_not_the_answer(tmp_path, *, background):
    """A nested agent ends first, or last: its words go to nobody but its caller."""
    inner = {"prompt": "inner", "description": "n", "subagent_type": "general-purpose"}
    call = tool_use("Agent", {**inner, "run_in_background": background})

    def answers(prompt: str, request: ApiRequest) -> Answer:
        if prompt.startswith("inner"):
            return reply("inner words", delay_s=3)
        return agent_output() if request.own_calls else reply(call)

    with host_world(tmp_path, obedient_model(answers)) as world:
        request = world.submit()
        with world.stream():
            response = world.ended(request)
            wait_until(lambda: not all_runs(world.store), what="the last notice")

    assert response.success
    assert "inner words" not in world.main_words()
