"""Agents of ours that start agents, in the real client: the last words count, once."""

import json
import re
from collections.abc import Callable, Mapping

import pytest
from hostworld import host_world, named, prompts, stopping
from polling import wait_until

from bridge.testing.stage.models import Answers, obedient_model
from bridge.testing.stage.replies import Answer, Reply, error, reply, tool_use
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

INTERIM = '{"status": "partial", "summary": "INTERIM waiting for my helper"}'
GOOD = '{"status": "success", "summary": "s"}'
AGENT_ID = re.compile(r"agentId: (\w+)")
NAME = re.compile(r"\[(.*?)\]")
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

    def answers(prompt, request):
        if prompt.startswith("inner"):
            return helper(request)
        if not request.own_calls:
            inner = f"inner {named(_name(prompt))}"
            return starting(inner, in_background=in_background)
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


def two_deep(prompt: str, request: ApiRequest) -> Answer:
    """It is woken when its helper has ended, which waits for one of its own."""

    def helper(request):
        if not request.own_calls:
            return starting(f"leaf {named(_name(prompt))}")
        has_heard = "leaf words" in json.dumps(request.messages)
        return reply("inner words" if has_heard else "soon")

    if prompt.startswith("leaf"):
        return reply("leaf words", delay_s=2)
    return with_helper(helper)(prompt, request)


def continuing(prompt: str, request: ApiRequest) -> Answer:
    """SendMessage wakes its helper again: what it says before the second end waits."""
    heard = json.dumps(request.messages)
    if prompt.startswith("inner"):
        if "and then?" in heard:
            return reply("second words", delay_s=2)
        return reply("first words")
    if not request.own_calls:
        return starting(f"inner {named(_name(prompt))}")
    if "second words" in heard:
        return reply(GOOD)
    called = {call.get("name") for call in request.own_calls}
    if "first words" not in heard or "SendMessage" in called:
        return reply(INTERIM)
    if "ToolSearch" not in called:
        return reply(tool_use("ToolSearch", {"query": "select:SendMessage"}))
    helper = AGENT_ID.findall(heard)[0]
    message = {"to": helper, "message": "and then?", "summary": "more"}
    return reply(tool_use("SendMessage", message))


SLOW = with_helper(slowly)
PROSE = with_helper(slowly, interim="I wait for my helper.")
BOTH_END = with_helper(at_once)
FAILS = with_helper(badly)
SESSIONS: Mapping[str, tuple[str, str, Mapping[str, Answers]]] = {
    # the session, its permission mode, what its agents do
    "terminal": (
        "terminal",
        "default",
        {
            "slow": SLOW,
            "prose": PROSE,
            "both end": BOTH_END,
            "ends before": with_helper(at_once, speaks_s=3),
            "it fails": FAILS,
            "two deep": two_deep,
            "is continued": continuing,
        },
    ),
    "terminal, auto": (
        "terminal",
        "auto",
        {"slow": SLOW, "prose": PROSE, "both end": BOTH_END},
    ),
    "stream": ("stream", "default", {"slow": SLOW, "it fails": FAILS}),
    "stream, auto": (
        "stream",
        "auto",
        {"in the foreground": with_helper(slowly, in_background=False)},
    ),
    "one-shot": ("one-shot", "default", {"slow": SLOW}),
}


@pytest.mark.parametrize("session", SESSIONS)
def test_what_an_agent_says_last_is_the_answer(tmp_path, session):
    how, mode, agents = SESSIONS[session]

    def answers(prompt, request):
        return agents[_name(prompt)](prompt, request)

    with host_world(tmp_path, obedient_model(answers)) as world:
        responses = world.serve_all(how, prompts(agents), mode=mode)

    said = [response.raw_output for response in responses]
    assert dict(zip(agents, said, strict=True)) == dict.fromkeys(agents, GOOD)
    assert "inner words" not in world.main_words()


def test_a_helper_that_somebody_stops(tmp_path):
    """TaskStop: its caller is told, and answers without it."""
    answers = with_helper(lambda _: reply("late", delay_s=600))
    with host_world(tmp_path, obedient_model(answers, main=stopping)) as world:
        request = world.submit(named("stopped"))
        with world.terminal() as terminal:
            run = world.wait_for_run(request)
            (helper,) = wait_until(lambda: world.run(run.agent_id).waits_for)
            between = world.stage_of(request)
            terminal.submit(f"stop {helper}")
            response = world.ended(request)

    assert between == "running"
    assert response.raw_output == GOOD


def _name(prompt: str) -> str:
    found = NAME.search(prompt)
    assert found, prompt
    return found[1]
