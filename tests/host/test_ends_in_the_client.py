"""Every way in which a subagent ends: a typed response at once.

One table, in the foreground (one shot) and in the background (a session that stays
open), with the real client. Agents of agents are in test_interim_in_the_client.py.
"""

import json
import threading
from typing import Any

import pytest
from hostworld import (
    bash,
    bash_until_go,
    by_name,
    code_of,
    host_world,
    named,
    stopping,
)
from polling import wait_until

from bridge.testing.stage.models import agent_output, answering, obedient_model
from bridge.testing.stage.replies import Answer, error, reply, tool_use

pytestmark = pytest.mark.host

HOWS = ("one-shot", "stream")
# What follows a failed one is in test_tries_in_the_client.py.
ONE_TRY: dict[str, Any] = {"max_attempts": 1, "wait_quota": False}
CALL = tool_use("Bash", {"command": "touch made", "description": "work"})
WORK = reply(CALL)
BAD_REQUEST = error(400, "invalid_request_error", "Not like that")
RATE_LIMIT = error(429, "rate_limit_error", "Slow down")
SERVER_ERROR = error(500, "api_error", "Sorry")


ENDS: dict[str, tuple[Answer, str, str | None]] = {
    # what the subagent does, its type, how the request ends
    "answer": (agent_output(), "general-purpose", None),
    "no word": (reply(), "general-purpose", "empty_answer"),
    "max turns": (reply("Soon.", CALL), "hasty", "no_json"),
    "bad request": (BAD_REQUEST, "general-purpose", "agent_error"),
    "rate limit": (RATE_LIMIT, "general-purpose", "quota"),
    "server error": (SERVER_ERROR, "general-purpose", "agent_error"),
    "unknown agent": (agent_output(), "nobody:knows", "agent_missing"),
}


@pytest.mark.parametrize("how", HOWS)
def test_an_end_is_a_typed_response(tmp_path, how):
    turns = {end: [answer] for end, (answer, _, _) in ENDS.items()}
    questions = {named(end): {"agent": agent} for end, (_, agent, _) in ENDS.items()}

    with host_world(tmp_path, obedient_model(by_name(turns))) as world:
        world.add_agent("hasty", "maxTurns: 2\ntools: Bash\n")
        responses = world.serve_all(how, questions, **ONE_TRY)

    assert dict(zip(ENDS, map(code_of, responses), strict=True)) == {
        end: code for end, (_, _, code) in ENDS.items()
    }


def decides(event: str, **output: object) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **output}}


CUT_OFF = {"continue": False, "stopReason": "enough"}
DENIED = decides(
    "PreToolUse", permissionDecision="deny", permissionDecisionReason="policy"
)
INTERRUPTED = decides(
    "PermissionRequest",
    decision={"behavior": "deny", "message": "no", "interrupt": True},
)
HOOKED: dict[str, tuple[Answer, tuple[str, str, dict[str, Any]], str]] = {
    # what the subagent does, another hook and what it says, how the request ends
    "continue false": (WORK, ("PreToolUse", "Bash", CUT_OFF), "empty_answer"),
    "call denied": (agent_output(), ("PreToolUse", "Agent", DENIED), "agent_error"),
    "interrupted": (WORK, ("PermissionRequest", "*", INTERRUPTED), "agent_stopped"),
}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("end", HOOKED)
def test_an_end_by_another_hook_is_a_typed_response(tmp_path, how, end):
    answer, (event, tool, said), code = HOOKED[end]

    with host_world(tmp_path, obedient_model(answering(answer))) as world:
        world.add_command(event, f"cat >/dev/null; echo '{json.dumps(said)}'", tool)
        response = world.serve(how, **ONE_TRY)

    assert code_of(response) == code, response


def test_an_agent_waits_for_a_command_of_its_own(tmp_path):
    """It stops, is woken when the command ends, and answers then: once, and unheard."""

    def answers(_prompt, request):
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

    def answers(_prompt, request):
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

    def answers(prompt, request):
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
