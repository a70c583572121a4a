"""Agents of ours that start agents, in the real client: the last words count, once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hostworld import host_world, stopping
from polling import wait_until

from bridge.store import subagent_runs
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import error, reply, tool_use

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.testing.stage.models import Answers
    from bridge.testing.stage.replies import Answer, Reply
    from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

INTERIM = '{"status": "partial", "summary": "INTERIM waiting for my helper"}'
GOOD = '{"status": "success", "summary": "s"}'
DONE = ("inner words", "<status>killed", "<status>failed", "API Error: 400")


def starting(prompt: str, *, in_background: bool = True) -> Reply:
    """A call that starts an agent: at a terminal always in the background."""
    call: dict[str, object]
    call = {"prompt": prompt, "description": "n", "subagent_type": "general-purpose"}
    call["run_in_background"] = in_background
    return reply(tool_use("Agent", call))


def with_helper(
    helper: Callable[[ApiRequest], Answer],
    *,
    interim: str = INTERIM,
    speaks_s: float = 0,
    in_background: bool = True,
) -> Answers:
    """An agent that starts a helper, says that it waits, and answers when told."""

    def answers(prompt: str, request: ApiRequest) -> Answer:
        if prompt.startswith("inner"):
            return helper(request)
        if not request.own_calls:
            return starting("inner", in_background=in_background)
        heard = json.dumps(request.messages)
        if any(end in heard for end in DONE):
            return reply(GOOD)
        return reply(interim, delay_s=speaks_s)

    return answers


def slowly(_request: ApiRequest) -> Answer:
    return reply("inner words", delay_s=2)


def at_once(_request: ApiRequest) -> Answer:
    return reply("inner words")


def badly(_request: ApiRequest) -> Answer:
    return error(400, "invalid_request_error", "Not like that")


SLOW = with_helper(slowly)
PROSE = with_helper(slowly, interim="I wait for my helper.")
CASES: Mapping[str, tuple[str, str, Answers]] = {
    # the session, its permission mode, what the agent does
    "terminal": ("terminal", "default", SLOW),
    "terminal, prose": ("terminal", "default", PROSE),
    "terminal, auto": ("terminal", "auto", SLOW),
    "terminal, auto, prose": ("terminal", "auto", PROSE),
    "terminal, both end": ("terminal", "default", with_helper(at_once)),
    "terminal, auto, both end": ("terminal", "auto", with_helper(at_once)),
    "terminal, ends before": ("terminal", "default", with_helper(at_once, speaks_s=3)),
    "terminal, it fails": ("terminal", "default", with_helper(badly)),
    "stream": ("stream", "default", SLOW),
    "stream, auto": ("stream", "auto", with_helper(slowly, in_background=False)),
    "stream, it fails": ("stream", "default", with_helper(badly)),
    "one-shot": ("one-shot", "default", SLOW),
}


@pytest.mark.parametrize("case", CASES)
def test_what_the_agent_says_last_is_the_answer(tmp_path, case):
    how, mode, answers = CASES[case]

    with host_world(tmp_path, obedient_model(answers)) as world:
        if how == "terminal":
            with world.terminal(mode=mode):
                request = world.submit()
                response = world.ended(request)
                world.wait_until_forgotten()
        else:
            response = world.serve(how, mode=mode)

    assert response.success
    assert response.raw_output == GOOD
    assert "inner words" not in world.main_words()


def test_a_helper_that_somebody_stops(tmp_path):
    """TaskStop: its caller is told, and answers without it."""
    answers = with_helper(lambda _: reply("late", delay_s=600))
    with host_world(tmp_path, obedient_model(answers, main=stopping)) as world:
        request = world.submit()
        with world.terminal() as terminal:
            run = world.wait_for_run(request)
            (helper,) = wait_until(lambda: world.run(run.agent_id).waits_for)
            between = world.stage_of(request)
            terminal.submit(f"stop {helper}")
            response = world.ended(request)

    assert between == "running"
    assert response.raw_output == GOOD


def test_two_deep(tmp_path):
    """The agent is woken when its helper has ended, which waits for one of its own."""

    def helper(request: ApiRequest) -> Answer:
        if not request.own_calls:
            return starting("leaf")
        has_heard = "leaf words" in json.dumps(request.messages)
        return reply("inner words" if has_heard else "soon")

    inner = with_helper(helper)

    def answers(prompt: str, request: ApiRequest) -> Answer:
        if prompt.startswith("leaf"):
            return reply("leaf words", delay_s=2)
        return inner(prompt, request)

    with host_world(tmp_path, obedient_model(answers)) as world:
        with world.terminal():
            response = world.ended(world.submit())

    assert response.raw_output == GOOD


def test_a_helper_that_is_continued(tmp_path):
    """SendMessage wakes it again: what the agent says before its second end waits."""

    def helper(request: ApiRequest) -> Answer:
        if "and then?" in json.dumps(request.messages):
            return reply("second words", delay_s=2)
        return reply("first words")

    def answers(prompt: str, request: ApiRequest) -> Answer:
        if prompt.startswith("inner"):
            return helper(request)
        heard = json.dumps(request.messages)
        if not request.own_calls:
            return starting("inner")
        if "second words" in heard:
            return reply(GOOD)
        if "first words" not in heard or "SendMessage" in _called(request):
            return reply(INTERIM)
        if "ToolSearch" not in _called(request):
            return reply(tool_use("ToolSearch", {"query": "select:SendMessage"}))
        (run,) = (run for run in subagent_runs.all_runs(world.store) if run.nested)
        message = {"to": run.agent_id, "message": "and then?", "summary": "more"}
        return reply(tool_use("SendMessage", message))

    with host_world(tmp_path, obedient_model(answers)) as world:
        with world.terminal():
            response = world.ended(world.submit())

    assert response.raw_output == GOOD


def _called(request: ApiRequest) -> set[str]:
    return {str(call.get("name")) for call in request.own_calls}
