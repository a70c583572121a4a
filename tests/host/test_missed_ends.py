"""An agent ends, and its hook is missed: its transcript has what it said last."""

import json
import os
import subprocess
from typing import Any

import pytest
from followups import AGAIN, resumed
from hookworld import GOOD, running
from transcriptrecords import (
    CALL,
    handing,
    missed,
    result,
    said,
    text,
    told,
    working,
    writes,
)

from bridge.host import unseen_ends

OTHER = '{"status": "partial", "summary": "o"}'
FEEDBACK = "Stop hook feedback:\nhostbridge could not use this answer"
INTERRUPTED = [{"type": "text", "text": "[Request interrupted by user]"}]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """No other hook is about to handle an end."""
    monkeypatch.setattr(unseen_ends, "SETTLE_S", 0)


SYNTHETIC = {"model": "<synthetic>", "stop_reason": "stop_sequence"}
ERROR: dict[str, Any] = {"message": SYNTHETIC, "isApiErrorMessage": True}
LIMIT = said(text("API Error: Rejected (429)"), **ERROR, error="rate_limit")
BROKEN = said(text("API Error: 500 Sorry"), **ERROR, error="server_error")
REFUSED = result("toolu_h", is_error=True)
HALF = said(text(GOOD), message={"stop_reason": None})
ATTACHED = {"type": "attachment", "attachment": {}}
SEEN = (working(text("First a look."), CALL), result("toolu_x"))
ENDINGS: dict[str, tuple[list[dict[str, Any]], str]] = {
    # what the client has written down behind the prompt, and how the request ends
    "an answer": ([*SEEN, said(text(GOOD))], "success"),
    "an answer at once": ([said(text(GOOD))], "success"),
    "something behind it": ([said(text(GOOD)), ATTACHED], "success"),
    "prose": ([*SEEN, said(text("Well."))], "no_json"),
    "another form": ([*SEEN, said(text('{"status": "success"}'))], "schema_mismatch"),
    "corrected": (
        [said(text("Well.")), told(FEEDBACK, isMeta=True), said(text(GOOD))],
        "success",
    ),
    "handed back": ([*SEEN, handing(GOOD), result("toolu_h")], "success"),
    "a hand-back that was refused": ([handing(GOOD), REFUSED], "agent_error"),
    "to be corrected": ([said(text(GOOD)), told(FEEDBACK, isMeta=True)], "agent_error"),
    "at work": ([working(text(GOOD), CALL)], "agent_error"),
    "after a tool": ([*SEEN], "agent_error"),
    "half a message": ([HALF], "agent_error"),
    "no word": ([*SEEN, said()], "agent_error"),
    "stopped at work": ([*SEEN, told(INTERRUPTED)], "agent_stopped"),
    "stopped while it spoke": ([said(text(GOOD)), told(INTERRUPTED)], "agent_stopped"),
    "a limit": ([*SEEN, LIMIT], "quota"),
    "a broken model": ([*SEEN, BROKEN], "agent_error"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_an_agent_said_last_is_judged_as_always(world, ending):
    """One missed event is no user's stop, and throws no answer away."""
    records, code = ENDINGS[ending]

    request = missed(world, *records, max_attempts=1, wait_quota=False)

    assert world.code(request) == code
    if code == "success":
        assert world.response(request).raw_output == GOOD


def test_a_message_of_several_blocks_counts_whole(world):
    records = (*SEEN, said(text('"one')), said(text('two"')))

    request = missed(world, *records, schema={"type": "string"})

    assert world.response(request).raw_output == '"one\ntwo"'


def test_a_message_without_an_id_is_no_part_of_the_prompt(world):
    """No message of a person has one, and what the agent was told is not its answer."""
    request = missed(world, said(text(GOOD), message={"id": None}))

    assert world.response(request).raw_output == GOOD


EVENTS = {
    "UserPromptSubmit": {"prompt": "hello"},
    "FileChanged": {"file_path": "wake", "event": "add"},
    "SessionEnd": {"reason": "other"},
}


@pytest.mark.parametrize("event", [*EVENTS, "notice"])
def test_an_agent_that_has_finished_is_heard_at_the_next_event(world, event):
    """Stop may be long in coming, or be missed as well."""
    request, agent = world.working()
    writes(world, agent, said(text(GOOD)))
    world.finishes(agent)

    if event == "notice":
        world.notice(agent)
    else:
        world.say(event, **EVENTS[event])

    assert world.response(request).raw_output == GOOD


def test_an_agent_at_work_is_not_heard(world):
    """Its message may be the one that a hook looks at right now."""
    request, agent = world.working()
    writes(world, agent, said(text(GOOD)))

    world.say("UserPromptSubmit", prompt="hello")

    assert world.code(request) is None


def test_words_that_a_notice_brings_count_more_than_the_transcript(world):
    request, agent = world.working()
    writes(world, agent, said(text(OTHER)))

    world.notice(agent, result=GOOD)

    assert world.response(request).raw_output == GOOD


def test_an_agent_that_somebody_stopped_after_its_answer_has_answered(world):
    request, agent = world.working()
    writes(world, agent, said(text(GOOD)))

    world.notice(agent, "killed")

    assert world.code(request) == "success"


def test_an_agent_of_which_no_event_was_seen_has_run(world):
    """It used no tool, and the hooks of its launch and its end were missed."""
    request, _, agent = world.begin()
    writes(world, agent, said(text(GOOD)))

    world.say("Stop", background_tasks=[])

    assert world.response(request).raw_output == GOOD


def test_an_agent_that_still_runs_is_left(world):
    """Of its launch, too, every event may be missed."""
    request, _, agent = world.begin()

    world.say("Stop", background_tasks=running(agent))

    assert world.code(request) is None
    assert [run.agent_id for run in world.runs()] == [agent]


def test_a_process_that_goes_on_with_a_session_hears_its_agents(world, monkeypatch):
    """The client was killed before anybody heard them: `--resume` tells."""
    request, agent = world.working()
    writes(world, agent, said(text(GOOD)))
    before = int(os.environ["CLAUDE_PID"])
    with subprocess.Popen(["sleep", "600"]) as other:
        monkeypatch.setenv("CLAUDE_PID", str(other.pid))
        os.kill(before, 9)
        os.waitpid(before, 0)

        world.say("SessionStart", source="resume")

        other.kill()
    assert world.response(request).raw_output == GOOD


# What does not count


def test_the_answer_to_the_question_before_is_none_to_this_one(world):
    first, agent = world.answered()
    writes(world, agent, said(text(GOOD)))
    second, _ = resumed(world, first, agent)

    world.say("Stop", background_tasks=[])

    assert world.code(second) == "agent_error"


def test_the_same_words_may_answer_the_next_question_too(world):
    first, agent = world.answered()
    writes(world, agent, said(text(GOOD)))
    second, _ = resumed(world, first, agent)
    writes(world, agent, said(text(GOOD), message={"id": "msg_2"}))

    world.say("Stop", background_tasks=[])

    assert world.response(second).raw_output == GOOD


def test_a_follow_up_that_no_hook_saw_sent_is_answered(world):
    first, agent = world.answered()
    second = world.submit("And why?", continues=first)
    world.say("UserPromptSubmit", prompt="hi")
    _, output = world.send(second, agent)
    world.hears(agent, output["updatedInput"]["message"])
    writes(world, agent, said(text(AGAIN), message={"id": "msg_2"}))

    world.say("Stop", background_tasks=[])

    assert world.response(second).raw_output == AGAIN


def test_another_question_in_the_transcript_is_not_answered(world):
    """Another hook had rewritten the call, and the one that tells so was missed."""
    request, _, agent = world.begin(max_attempts=1)
    world.transcript(agent).write_text("")
    writes(world, agent, told("Sing."), said(text(GOOD)))

    world.say("Stop", background_tasks=[])

    assert world.code(request) == "agent_error"


def test_evidence_of_a_command_needs_the_hooks_that_saw_it(world):
    """A transcript can be forged by what an agent runs: it verifies nothing."""
    claim = {"type": "test", "content": "ok", "passed": True, "command": "pytest"}
    answer = {"status": "success", "summary": "s", "evidence": [claim]}
    call = {**CALL, "input": {"command": "pytest"}}
    words = json.dumps(answer)

    request = missed(world, working(call), result("toolu_x"), said(text(words)))

    assert world.code(request) == "unverified"


def test_an_agent_that_waits_for_its_own_agent_has_not_ended(world):
    """The hook of its stop was missed, and it is not listed while it sleeps."""
    request, agent = world.working(max_attempts=1)
    helper = world.nest(agent)
    writes(world, agent, said(text(OTHER)))
    world.finishes(agent)

    world.say("Stop", background_tasks=running(helper))
    world.say("UserPromptSubmit", prompt="hello")

    assert world.code(request) is None


def test_an_answer_after_clear_is_the_answer(world):
    """The transcript goes on beside the new session's, without the prompt."""
    request, agent = world.working()
    world.start_again()
    world.transcript(agent).parent.mkdir(parents=True, exist_ok=True)
    writes(world, agent, result("toolu_x"), said(text(GOOD)))
    path = str(world.transcript(agent))

    world.stop(agent, GOOD, agent_transcript_path=path)

    assert world.code(request) == "success"
