"""Agents of ours that start agents: what they say before those end is no answer.

Event by event; the client tells an agent of an end in the agent's own transcript.
"""

from typing import Any

import pytest
from hookworld import GOOD, HookWorld, running

from bridge.host import interim, transcript

pytestmark = pytest.mark.slow

INTERIM = '{"status": "partial", "summary": "I wait for my helper"}'


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the client tells an agent is written down when the agent stops."""
    monkeypatch.setattr(transcript, "WRITTEN_S", 0)
    monkeypatch.setattr(interim, "SETTLE_S", 0)


def helped(world: HookWorld, **asked: Any) -> tuple[str, str, str]:
    """An agent that has started one of its own; request, agent and helper."""
    request, _, agent = world.begin(**asked)
    return request, agent, world.nest(agent)


def stops(world: HookWorld, agent: str, words: str, *others: str) -> Any:
    """Have an agent in the background stop while others run."""
    return world.stop(agent, words, background_tasks=running(agent, *others))


def hand_back(world: HookWorld, agent: str, words: str) -> Any:
    said = world.use(agent, "SubagentHandback", tool_input={"message": words})
    return said.get("hookSpecificOutput", {}).get("permissionDecisionReason")


@pytest.mark.parametrize("words", [INTERIM, "I wait.", ""], ids=["JSON", "prose", "no"])
def test_words_before_the_helper_ends_are_no_answer(world, words):
    """Neither published nor corrected; the words after its end count."""
    request, agent, helper = helped(world)

    first = stops(world, agent, words, helper)
    between = world.code(request)
    stops(world, helper, "inner words")
    world.notify(agent, helper)
    second = stops(world, agent, GOOD)

    assert (first, between, second) == ({}, None, {})
    assert world.response(request).raw_output == GOOD
    kept = [each["reason"] for each in world.store.evidence(request)]
    expected = "interim: agents that it started had not ended"
    assert kept == ([expected] if words else [])


def test_the_words_of_each_wake_but_the_last_are_interim(world):
    request, _, agent = world.begin()
    helpers = [world.nest(agent) for _ in range(3)]

    for number, helper in enumerate(helpers):
        stops(world, agent, INTERIM, *helpers[number:])
        stops(world, helper, "inner words", agent)
        world.notify(agent, helper)
    before = world.code(request)
    stops(world, agent, GOOD)

    assert (before, world.code(request)) == (None, "success")


def test_a_helper_that_ends_while_its_caller_stops_is_heard_from_us(world):
    """The client may not tell: the agent is made to go on, once, with the report."""
    request, agent, helper = helped(world)

    stops(world, helper, "inner words", agent)
    said = stops(world, agent, INTERIM, helper)
    before = world.code(request)
    after = stops(world, agent, GOOD)

    assert said["decision"] == "block"
    assert said["reason"] == (
        "hostbridge: agents that you started have ended meanwhile. Read what they "
        f"report, then answer.\n\nAgent {helper}:\ninner words"
    )
    assert (before, after, world.code(request)) == (None, {}, "success")


@pytest.mark.parametrize("end", ["killed", "failed"])
def test_a_helper_may_end_in_any_way(world, end):
    """Its caller is told, and answers without it."""
    request, agent, helper = helped(world)

    if end == "failed":
        world.say("StopFailure", agent_id=helper, error="server_error")
    stops(world, agent, INTERIM, *([] if end == "failed" else [helper]))
    before = world.code(request)
    world.notify(agent, helper)
    stops(world, agent, GOOD)

    assert (before, world.code(request)) == (None, "success")


@pytest.mark.parametrize("sign", ["notice", "stops"])
def test_an_agent_that_is_never_woken_has_not_answered(world, sign):
    """A named failure, and what it said while it waited is kept."""
    request, agent, helper = helped(world, max_attempts=1)

    stops(world, agent, GOOD, helper)
    if sign == "notice":
        world.notice(agent, result=GOOD)
    else:
        world.say("Stop", background_tasks=running(helper))
        alive = world.code(request)
        world.say("Stop", background_tasks=[])
        world.say("Stop", background_tasks=[])
        assert alive is None

    assert world.code(request) == "agent_error"
    assert world.store.evidence(request)[0]["rawOutput"] == GOOD


def test_two_deep(world):
    """A helper that waits is not listed; what it waits for is."""
    request, agent, helper = helped(world)
    leaf = world.nest(helper)

    world.stop(helper, "soon", background_tasks=running(agent, helper, leaf))
    stops(world, agent, INTERIM, leaf)
    world.say("Stop", background_tasks=running(leaf))
    world.say("Stop", background_tasks=running(leaf))
    stops(world, leaf, "leaf words")
    world.notify(helper, leaf)
    stops(world, helper, "inner words")
    before = world.code(request)
    world.notify(agent, helper)
    stops(world, agent, GOOD)

    assert (before, world.code(request)) == (None, "success")


def test_a_report_is_handed_over_when_all_have_ended(world):
    """In auto mode: the agent is put to sleep, and no correction is spent."""
    request, agent, helper = helped(world)
    leaf = world.nest(helper)

    said = [hand_back(world, agent, "I wait."), hand_back(world, helper, "I wait.")]
    hand_back(world, leaf, "leaf words")
    world.notify(helper, leaf)
    passed = hand_back(world, helper, "inner words")
    world.notify(agent, helper)
    taken = hand_back(world, agent, GOOD)

    wait = (
        "hostbridge: agents that you started still work. You will be woken when they "
        "are done; hand your answer over then."
    )
    assert said == [wait, wait]
    assert passed is None
    assert taken == "hostbridge delivered this answer to the program that asked."
    assert world.code(request) == "success"


def test_a_continued_helper_ends_once_more(world):
    """SendMessage wakes one that has ended: its caller is told of two ends."""
    request, agent, helper = helped(world)
    stops(world, helper, "inner words", agent)
    world.notify(agent, helper)

    world.use(agent, "SendMessage", tool_input={"to": helper, "message": "and?"})
    said = hand_back(world, agent, INTERIM)
    stops(world, helper, "more", agent)
    stops(world, agent, INTERIM)
    before = world.code(request)
    world.notify(agent, helper)
    stops(world, agent, GOOD)

    assert "still work" in said
    assert (before, world.code(request)) == (None, "success")


@pytest.mark.parametrize("end", ["cancelled", "timeout"])
def test_a_request_that_ends_meanwhile(world, end):
    """Words after that are evidence; the helper is stopped at its next tool call."""
    request, agent, helper = helped(world)
    stops(world, agent, INTERIM, helper)

    if end == "cancelled":
        world.bridge.cancel(request)
    else:
        world.change("processing", request, createdAt=1, uptime=None)
        world.store.sweep()
    said = world.use(helper)
    stops(world, helper, "inner words", agent)
    world.notify(agent, helper)
    stops(world, agent, GOOD)
    world.notice(agent, result=GOOD)

    assert said["continue"] is False
    assert world.code(request) == end
    assert [each["rawOutput"] for each in world.store.evidence(request)][-1] == GOOD
    assert [run for run in world.runs() if not run.nested] == []


def test_an_agent_in_the_foreground_is_not_woken(world):
    """Its call ends when it stops: it is not listed, and its words count now."""
    request, agent, helper = helped(world)

    said = world.stop(agent, "I wait.", background_tasks=running(helper))
    world.stop(agent, GOOD, background_tasks=running(helper))

    assert said["decision"] == "block"
    assert "woken" not in said["reason"]
    assert world.code(request) == "success"


@pytest.mark.parametrize("asked", [True, None, False], ids=str)
def test_agents_of_agents_run_in_the_foreground_where_they_can(world, *, asked):
    """Without a terminal nobody wakes an agent; auto mode wants calls unchanged."""
    _, _, agent = world.begin()
    call = {"prompt": "inner", "description": "n"}
    more = {} if asked is None else {"run_in_background": asked}

    said = world.use(agent, "Agent", tool_input={**call, **more})

    output = {
        "hookEventName": "PreToolUse",
        "updatedInput": {**call, "run_in_background": False},
    }
    assert said == ({} if asked is False else {"hookSpecificOutput": output})


@pytest.mark.parametrize("to", ["another", "main", None])
def test_a_message_to_anybody_else_is_refused(world, to):
    """Only an agent's own helper is continued; in the main thread it is a prompt."""
    _, other = world.working()
    world.stop(other)
    _, agent = world.working()
    message = {"to": other if to == "another" else to, "message": "and?"}

    said = world.use(agent, "SendMessage", tool_input=message)

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    states = {run.agent_id: run.state for run in world.runs()}
    assert states == {other: "ended", agent: "running"}
