"""Agents that end without SubagentStop: a typed response all the same."""

from collections.abc import Callable
from threading import Timer
from typing import Any

import pytest
from hookworld import GOOD, HookWorld, running

from bridge.host import transcript, unseen_ends
from bridge.host.client_errors import code_of
from bridge.host.run_ends import RECEIPT
from bridge.host.unseen_ends import LAUNCHED

pytestmark = pytest.mark.slow


def test_an_agent_that_never_stops_is_missed(world):
    """Nobody has stopped it, as far as anybody can tell: it may be tried again."""
    request, _ = world.working(max_attempts=1)

    world.say("Stop", background_tasks=[])

    assert world.code(request) == "agent_error"
    assert world.response(request).error.message == (
        "the agent, or the model behind it, failed: the client no longer lists it "
        "among its running tasks, and it left no answer"
    )


class Waiting:
    """A clock: something happens while somebody sleeps for the third time."""

    def __init__(self, happens: Callable[[], object]) -> None:
        self.waited_s = 0.0
        self._sleeps = 0
        self._happens = happens

    def monotonic(self) -> float:
        return self.waited_s

    def sleep(self, seconds: float) -> None:
        self.waited_s += seconds
        self._sleeps += 1
        if self._sleeps == 3:
            self._happens()


def test_an_agent_that_ends_with_the_turn_is_heard(world, monkeypatch):
    """The client no longer lists it, but the hook of its own end has yet to start."""
    request, agent = world.working()
    clock = Waiting(lambda: world.stop(agent, GOOD))
    monkeypatch.setattr(unseen_ends, "time", clock)

    world.say("Stop", background_tasks=[])

    assert clock.waited_s > 0
    assert world.code(request) == "success"


def test_agents_that_are_missed_are_waited_for_at_once(world, monkeypatch):
    """One after the other, many would outlast the hook, which then offers nothing."""
    begun = [world.working(max_attempts=1) for _ in range(4)]
    clock = Waiting(lambda: world.stop(begun[1][1], GOOD))
    monkeypatch.setattr(unseen_ends, "time", clock)

    world.say("Stop", background_tasks=[])

    assert unseen_ends.SETTLE_S <= clock.waited_s < 1.5 * unseen_ends.SETTLE_S
    codes = [world.code(request) for request, _ in begun]
    assert codes == ["agent_error", "success", "agent_error", "agent_error"]


def test_the_end_of_a_session_lets_go_but_not_on_clear(world):
    request, _ = world.working()

    world.fire("SessionEnd", reason="clear")
    after_clear = (world.found(request).status, len(world.runs()), len(world.live()))
    world.fire("SessionEnd", reason="other")
    after_end = (world.found(request).status, len(world.runs()), len(world.live()))

    assert after_clear == ("processing", 1, 1)
    assert after_end == ("pending", 0, 0)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("Agent type 'x' not found. Available agents: claude", "agent_missing"),
        ("rate_limit API Error: Request rejected (429)", "quota"),
        ("You've hit your limit, resets 3pm", "quota"),
        ("The agent was stopped", "agent_stopped"),
        ("The operation was aborted", "agent_stopped"),
        ("API Error: 500", "agent_error"),
        ("", "agent_error"),
    ],
)
def test_an_error_has_a_code(error, code):
    assert code_of(error) == code


# The call of an agent ends


def end_call(world: HookWorld, call: str, agent: str, **response: Any) -> Any:
    """Have the client report the result of an Agent call."""
    return world.say(
        "PostToolUse",
        tool_name="Agent",
        tool_use_id=call,
        tool_input={"prompt": world.prompts[call]},
        tool_response={"agentId": agent, **response},
    )


def test_a_launch_in_the_background_has_a_short_result(world):
    """The client's own text promises a notice, and names a file to poll."""
    request, call, agent = world.begin()

    said = end_call(world, call, agent, isAsync=True, status="async_launched")

    usage = {"input_tokens": 0, "output_tokens": 0, "service_tier": None}
    usage |= dict.fromkeys(["cache_creation", "server_tool_use"])
    usage |= dict.fromkeys(["cache_creation_input_tokens", "cache_read_input_tokens"])
    assert said["hookSpecificOutput"]["updatedToolOutput"] == {
        "status": "completed",
        "agentId": agent,
        "content": [{"type": "text", "text": LAUNCHED}],
        "prompt": "",
        "canContinueAgent": False,
        "totalToolUseCount": 0,
        "totalDurationMs": 0,
        "totalTokens": 0,
        "usage": usage,
    }
    held = world.found(request).request
    assert (held.claim.agent_id, held.claim.background) == (agent, True)


NOTE, TAIL = ({"type": "text", "text": words} for words in ("a note", "a tail"))
WORDS = {"type": "text", "text": GOOD}
RESULTS: dict[str, dict[str, Any]] = {
    "plain": {"content": [WORDS]},
    "with a note": {
        "content": [NOTE, WORDS, TAIL], "harnessNoteCount": 1, "harnessTailCount": 1
    },
    "handed back": {"content": [NOTE], "handbackReport": {"text": GOOD}},
}  # fmt: skip


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_an_answer_in_the_foreground_stays_out_of_the_hosts_context(world, result):
    """The agent's words are between the client's own."""
    request, call, agent = world.begin()

    said = end_call(world, call, agent, **result)

    assert world.response(request).raw_output == GOOD
    assert said["hookSpecificOutput"]["updatedToolOutput"] == {
        **result,
        "agentId": agent,
        "content": [{"type": "text", "text": RECEIPT}],
        "harnessNoteCount": 0,
        "harnessTailCount": 0,
    }
    assert said["systemMessage"].startswith(f"hostbridge: {request} answered after")
    assert world.runs() == []


def test_error_the_call_shows_another_prompt(world):
    """Another hook's rewrite won, and the transcript cannot tell."""
    request, call, agent = world.begin()
    world.prompts[call] = "Sing."

    end_call(world, call, agent, isAsync=True)

    assert world.code(request) == "prompt_replaced"


def test_an_agent_that_stops_while_its_launch_is_looked_at(world, monkeypatch):
    """Its words wait for the transcript, which the client has yet to write."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    call = world.launch(request)
    world.prompts[call] = "Sing."
    agent = world.start(call)
    [file] = world.transcripts.glob("*/subagents/*.jsonl")
    held = file.rename(file.with_suffix(".held"))
    late = Timer(0.1, lambda: held.rename(file))
    fail = unseen_ends.fail

    def stops_first(*args, **named):
        late.start()
        world.stop(agent, GOOD)
        fail(*args, **named)

    monkeypatch.setattr(unseen_ends, "fail", stops_first)
    monkeypatch.setattr(transcript, "WRITTEN_S", 30)

    end_call(world, call, agent, isAsync=True)

    assert world.code(request) == "prompt_replaced"
    late.join()


@pytest.mark.parametrize(
    ("is_seen", "fields", "code"),
    [
        (False, {"error": "Agent type 'x' not found"}, "agent_missing"),
        (True, {"error": "API Error: 500"}, "agent_error"),
        (True, {"error": "x", "is_interrupt": True}, "agent_stopped"),
    ],
)
def test_a_call_that_fails(world, *, is_seen, fields, code):
    """The run of an agent that was seen is kept for a notice about it."""
    request, call, agent = world.begin(max_attempts=1)
    if is_seen:
        world.use(agent)

    said = world.say(
        "PostToolUseFailure", tool_name="Agent", tool_use_id=call, **fields
    )

    assert world.code(request) == code
    assert said["systemMessage"].startswith(f"hostbridge: {request} {code} after")
    assert [run.state for run in world.runs()] == (["ended"] if is_seen else [])


@pytest.mark.parametrize(("ended_ago_ms", "kept"), [(0, 1), (90_000, 0), (-90_000, 0)])
def test_an_ended_run_is_kept_for_a_minute(world, ended_ago_ms, kept):
    """A notice about it may still come; the clock may have been set back meanwhile."""
    _, agent = world.working()
    world.stop(agent)
    world.change("agents", agent, endedAt=world.store.now_ms() - ended_ago_ms)

    world.say("Stop", background_tasks=[])

    assert len(world.runs()) == kept


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_helper_is_forgotten_after_its_caller(world, *, is_listed):
    """Nobody else would tell that it has ended."""
    request, _, agent = world.begin()
    helper = world.nest(agent)
    world.use(helper)
    world.bridge.cancel(request)
    world.notice(agent, "killed")
    world.change("agents", helper, launchedAt=1)

    world.say("Stop", background_tasks=running(helper) if is_listed else [])

    assert [run.agent_id for run in world.runs()] == ([helper] if is_listed else [])
