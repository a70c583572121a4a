"""What becomes of an agent's words, event by event, without a client."""

import json

import pytest
from hookworld import GOOD

from bridge.host import last_words


def test_a_second_stop_changes_nothing(world):
    request, _, agent = world.begin()

    said = [world.stop(agent), world.stop(agent), world.stop(agent, "other words")]

    assert said == [{}, {}, {}]
    assert world.code(request) == "success"
    (late,) = world.store.evidence(request)
    assert late["rawOutput"] == "other words"


def test_the_call_may_end_before_its_agent_stops(world):
    """Out of order: what comes first with words is the answer."""
    request, call, agent = world.begin()
    content = [{"type": "text", "text": GOOD}]
    response = {"status": "completed", "agentId": agent, "content": content}

    world.say(
        "PostToolUse",
        tool_name="Agent",
        tool_use_id=call,
        tool_input={},
        tool_response=response,
    )
    after = world.stop(agent, "something else")

    assert (world.code(request), after) == ("success", {})
    assert world.runs() == []


def test_a_stop_of_another_agent_is_not_ours(world):
    request, _, _ = world.begin()

    world.stop("somebody-else", GOOD)

    assert world.code(request) is None


def test_a_host_that_says_it_is_done_is_not_believed(world):
    """No agent ran, whatever the last words of the turn are."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")

    world.say("Stop", background_tasks=[], last_assistant_message=GOOD)

    assert world.found(request).response is None


def test_a_host_that_writes_an_answer_itself_is_not_believed(world):
    """Only hostbridge can seal one; the agent's own words still count."""
    request, _, agent = world.begin()
    forged = {
        "schemaVersion": 1,
        "requestId": request,
        "success": True,
        "status": "completed",
        "rawOutput": "forged",
        "parsedOutput": {},
        "completedAt": 1,
        "duration": 1,
        "route": "host",
    }
    file = world.store.place.state / "responses" / f"{request}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(forged))

    before = world.found(request).response
    world.stop(agent)

    assert before is None
    assert world.response(request).raw_output == GOOD


def test_error_an_answer_to_what_was_asked_before(world):
    """A name is free again once its request was pruned; its agent may still work."""
    world.submit("What is one?", request_id="nightly")
    world.say("UserPromptSubmit", prompt="hello")
    agent = world.start(world.launch("nightly"))
    world.bridge.cancel("nightly")
    world.store.prune(older_than_days=0)
    request = world.submit("What is two?", request_id="nightly")

    world.stop(agent)

    assert world.code(request) is None
    (kept,) = world.store.evidence(request)
    assert kept["reason"] == "the agent was asked something else"
    world.say("UserPromptSubmit", prompt="hello")
    world.stop(world.start(world.launch(request)))
    assert world.code(request) == "success"


def test_the_longest_time_that_a_record_can_name(world):
    """Its deadline lies beyond every moment; another program may write it."""
    request = "long"
    world.drop(request, prompt="?", timeout=2**53 - 1)
    world.say("UserPromptSubmit", prompt="hello")

    world.stop(world.start(world.launch(request)))

    assert world.code(request) == "success"


# What the alarm interrupts may be a callback of the test runner's.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_error_an_answer_that_cannot_be_checked_in_time(world, monkeypatch):
    """Left to the hook's own limit, the words were lost and the agent called silent."""
    monkeypatch.setattr(last_words, "JUDGE_S", 0.001)
    world.drop("slow", prompt="?", schema={"items": {"type": "object"}})
    world.say("UserPromptSubmit", prompt="hello")
    agent = world.start(world.launch("slow"))
    words = json.dumps([{"n": n} for n in range(40_000)])

    for _ in range(3):
        world.stop(agent, words)

    response = world.response("slow")
    assert response.error.code == "schema_mismatch"
    assert response.error.message.endswith(
        "the answer could not be checked against its schema within 0.001 s"
    )
    assert response.raw_output == words


def test_another_model_than_the_one_asked_for_is_said(world):
    """The client's Agent tool takes its own models only."""
    world.drop("mine", prompt="?", model="big.gguf", createdAt=world.store.now_ms())
    world.say("UserPromptSubmit", prompt="hello")

    world.stop(world.start(world.launch("mine")))

    response = world.response("mine")
    assert (response.success, response.model, response.degraded) == (True, None, True)


def test_an_answer_is_rejected_before_it_is_corrected(world):
    """`show` tells it in the order of the journal."""
    request, agent = world.working()

    world.stop(agent, "Done!")

    events = [each["event"] for each in world.store.history(request)]
    assert events[-2:] == ["evidence", "corrected"]


@pytest.mark.parametrize("by", ["stop", "handback"])
def test_a_correction_says_how_to_answer_again(world, by):
    request, agent = world.working()

    if by == "stop":
        reason = world.stop(agent, "Done!")["reason"]
    else:
        said = world.use(agent, "SubagentHandback", tool_input={"message": "Done!"})
        reason = said["hookSpecificOutput"]["permissionDecisionReason"]

    how = {"stop": "answer again", "handback": "call SubagentHandback again"}[by]
    assert reason == (
        "hostbridge could not use this answer: the last message holds no JSON value. "
        f"Please {how} with exactly one JSON value that satisfies the schema in your "
        "instructions, and nothing else."
    )
    assert world.code(request) is None
