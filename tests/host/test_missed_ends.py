"""An agent ends, and its hook is missed: its transcript has what it said last."""

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from followups import AGAIN, resumed
from hookworld import GOOD, HookWorld, running

from bridge.host import agent_usage, transcript, transcript_end, unseen_ends
from bridge.protocol.record import json_object

OTHER = '{"status": "partial", "summary": "o"}'
FEEDBACK = "Stop hook feedback:\nhostbridge could not use this answer"
CALL = {"type": "tool_use", "id": "toolu_x", "name": "Bash", "input": {}}
INTERRUPTED = [{"type": "text", "text": "[Request interrupted by user]"}]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """No other hook is about to handle an end."""
    monkeypatch.setattr(unseen_ends, "SETTLE_S", 0)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def said(*content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A record of what the model says, a block each, as the client writes it."""
    message = {"role": "assistant", "id": "msg_1", "content": [*content]}
    message |= {"stop_reason": "end_turn", **fields.pop("message", {})}
    return {"type": "assistant", "message": message, **fields}


def told(content: Any, **fields: Any) -> dict[str, Any]:
    """A record of what the agent is told."""
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def result(call: str, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": "done", **fields}
    return told([block])


def working(*content: dict[str, Any]) -> dict[str, Any]:
    """A record of a message that calls a tool."""
    return said(*content, message={"stop_reason": "tool_use", "id": "msg_0"})


def handing(words: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "toolu_h", "name": "SubagentHandback"}
    return working({**block, "input": {"message": words}})


SYNTHETIC = {"model": "<synthetic>", "stop_reason": "stop_sequence"}
LIMIT = said(
    text("API Error: Request rejected (429)"),
    message=SYNTHETIC,
    isApiErrorMessage=True,
    error="rate_limit",
)
BROKEN = said(
    text("API Error: 500 Sorry"),
    message=SYNTHETIC,
    isApiErrorMessage=True,
    error="server_error",
)
SEEN = (working(text("First a look."), CALL), result("toolu_x"))
ENDINGS: dict[str, tuple[list[dict[str, Any]], str]] = {
    # what the client has written down behind the prompt, and how the request ends
    "an answer": ([*SEEN, said(text(GOOD))], "success"),
    "an answer at once": ([said(text(GOOD))], "success"),
    "something behind it": (
        [said(text(GOOD)), {"type": "attachment", "attachment": {}}],
        "success",
    ),
    "prose": ([*SEEN, said(text("Well."))], "no_json"),
    "another form": ([*SEEN, said(text('{"status": "success"}'))], "schema_mismatch"),
    "corrected": (
        [said(text("Well.")), told(FEEDBACK, isMeta=True), said(text(GOOD))],
        "success",
    ),
    "handed back": ([*SEEN, handing(GOOD), result("toolu_h")], "success"),
    "a hand-back that was refused": (
        [handing(GOOD), result("toolu_h", is_error=True)],
        "agent_error",
    ),
    "to be corrected": ([said(text(GOOD)), told(FEEDBACK, isMeta=True)], "agent_error"),
    "at work": ([working(text(GOOD), CALL)], "agent_error"),
    "after a tool": ([*SEEN], "agent_error"),
    "half a message": (
        [said(text(GOOD), message={"stop_reason": None})],
        "agent_error",
    ),
    "no word": ([*SEEN, said()], "agent_error"),
    "stopped at work": ([*SEEN, told(INTERRUPTED)], "agent_stopped"),
    "stopped while it spoke": ([said(text(GOOD)), told(INTERRUPTED)], "agent_stopped"),
    "a limit": ([*SEEN, LIMIT], "quota"),
    "a broken model": ([*SEEN, BROKEN], "agent_error"),
}


def writes(world: HookWorld, agent: str, *records: dict[str, Any]) -> None:
    """Have the client write records down."""
    with world.transcript(agent).open("a") as file:
        for record in records:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_an_agent_said_last_is_judged_as_always(world, ending):
    """One missed event is no user's stop, and throws no answer away."""
    records, code = ENDINGS[ending]
    request, agent = world.working(max_attempts=1, wait_quota=False)
    writes(world, agent, *records)

    world.say("Stop", background_tasks=[])

    assert world.code(request) == code
    if code == "success":
        assert world.response(request).raw_output == GOOD


def test_a_message_of_several_blocks_counts_whole(world):
    schema = {"type": "string"}
    request, agent = world.working(schema=schema)
    writes(world, agent, *SEEN, said(text('"one')), said(text('two"')))

    world.say("Stop", background_tasks=[])

    assert world.response(request).raw_output == '"one\ntwo"'


@pytest.mark.parametrize("event", ["prompt", "bell", "end", "notice"])
def test_an_agent_that_has_finished_is_heard_at_the_next_event(world, event):
    """Stop may be long in coming, or be missed as well."""
    request, agent = world.working()
    writes(world, agent, said(text(GOOD)))
    world.finishes(agent)

    if event == "prompt":
        world.say("UserPromptSubmit", prompt="hello")
    elif event == "bell":
        world.store.place.state.joinpath("bell").mkdir(exist_ok=True)
        world.submit("Another.")
        world.say("FileChanged", file_path="wake", event="add")
    elif event == "end":
        world.say("SessionEnd", reason="other")
    else:
        world.notice(agent)

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
    request, agent = world.working()
    call = {**CALL, "input": {"command": "pytest"}}
    words = json.dumps(answer)
    writes(world, agent, working(call), result("toolu_x"), said(text(words)))

    world.say("Stop", background_tasks=[])

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


def fifo(path):
    path.unlink()
    os.mkfifo(path)


def link(path):
    os.rename(path, path.with_suffix(".else"))
    path.symlink_to(path.with_suffix(".else"))


def cut(path):
    os.truncate(path, path.stat().st_size - 5)


def binary(path):
    path.write_bytes(b"\xff\x00\n" * 5000)


def folder(path):
    path.unlink()
    path.mkdir()


HOSTILE: dict[str, Callable[[Any], None]] = {
    each.__name__: each for each in (fifo, link, cut, binary, folder)
}


@pytest.mark.parametrize("spoil", HOSTILE)
def test_error_a_transcript_that_is_none(world, spoil):
    request, agent = world.working(max_attempts=1)
    writes(world, agent, said(text(GOOD)))
    HOSTILE[spoil](world.transcript(agent))

    world.say("Stop", background_tasks=[])

    assert world.code(request) == "agent_error"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_error_a_transcript_of_somebody_else(world):
    request, agent = world.working(max_attempts=1)
    writes(world, agent, said(text(GOOD)))
    os.chown(world.transcript(agent), 12345, -1)

    world.say("Stop", background_tasks=[])

    assert world.code(request) == "agent_error"


def test_only_the_end_of_a_huge_transcript_is_read(world, monkeypatch):
    monkeypatch.setattr(transcript_end, "_MAX_BYTES", 4_000)
    request, agent = world.working()
    noise = told("x" * 5_000, isMeta=True)
    writes(world, agent, *[noise] * 3, said(text(GOOD)))

    world.say("Stop", background_tasks=[])

    assert world.response(request).raw_output == GOOD


@pytest.fixture
def parsed(monkeypatch):
    """The lengths of the lines of transcripts that are parsed."""
    lengths = []

    def noting(line):
        lengths.append(len(line))
        return json_object(line)

    for module in (transcript, transcript_end, agent_usage):
        monkeypatch.setattr(module, "json_object", noting)
    return lengths


def huge(kind: str) -> dict[str, Any]:
    """A record that takes seconds and gigabytes to parse."""
    message = {"role": kind, "stop_reason": "end_turn", "content": [{}] * 2_000_000}
    return {"type": kind, "message": message | {"usage": {}, "tool_use": 1}}


@pytest.mark.parametrize("kind", ["assistant", "user", "attachment"])
def test_a_huge_line_in_a_transcript_is_not_parsed(world, parsed, kind):
    """It would hold up every event of the client."""
    request, agent = world.working(max_attempts=1)
    writes(world, agent, huge(kind))

    world.say("Stop", background_tasks=[])

    assert world.code(request) == "agent_error"
    assert max(parsed, default=0) < transcript.MAX_LINE


def test_a_huge_line_before_the_prompt_is_not_parsed(world, parsed):
    request, agent = world.working(max_attempts=1)
    file = world.transcript(agent)
    given = file.read_text()
    file.write_text("")
    writes(world, agent, huge("attachment"))
    with file.open("a") as more:
        more.write(given)
    writes(world, agent, said(text(GOOD)))

    world.say("Stop", background_tasks=[])

    assert world.response(request).raw_output == GOOD
    assert max(parsed, default=0) < transcript.MAX_LINE


def test_many_long_lines_are_not_all_parsed(world, parsed):
    """Each may be parsed; together they would take as long as one huge line."""
    request, agent = world.working(max_attempts=1)
    writes(world, agent, *[{"type": "attachment", "x": "x" * (1 << 20)}] * 20)

    world.say("Stop", background_tasks=[])

    assert world.code(request) == "agent_error"
    assert sum(parsed) < 2 * transcript.MAX_LINE


def test_a_prompt_of_megabytes_is_recognized_in_a_transcript(world):
    """A line that is as long as our own prompt makes it is parsed."""
    request, _, agent = world.begin(prompt="\x01x" * 1_000_000)
    writes(world, agent, said(text(GOOD)))

    world.say("Stop", background_tasks=[])

    assert world.response(request).raw_output == GOOD


def test_a_message_without_an_id_is_no_part_of_the_prompt(world):
    """No message of a person has one, and what the agent was told is not its answer."""
    request, agent = world.working()
    writes(world, agent, said(text(GOOD), message={"id": None}))

    world.say("Stop", background_tasks=[])

    assert world.response(request).raw_output == GOOD


def test_an_answer_after_clear_is_the_answer(world):
    """The transcript goes on beside the new session's, without the prompt."""
    request, agent = world.working()
    world.start_again()
    world.transcript(agent).parent.mkdir(parents=True, exist_ok=True)
    writes(world, agent, result("toolu_x"), said(text(GOOD)))
    path = str(world.transcript(agent))

    world.stop(agent, GOOD, agent_transcript_path=path)

    assert world.code(request) == "success"
