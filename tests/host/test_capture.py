"""How a request ends, event by event, without a client."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hookworld import GOOD, HookWorld

from bridge.host import capture, unseen_ends
from bridge.store.tool_calls import running_bash_depth

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_second_stop_changes_nothing(world: HookWorld) -> None:
    request, _, agent = world.begin()

    said = [world.stop(agent), world.stop(agent), world.stop(agent, "other words")]

    assert said == [{}, {}, {}]
    assert world.code(request) == "success"
    (late,) = world.store.evidence(request)
    assert late["rawOutput"] == "other words"


def test_the_call_may_end_before_its_agent_stops(world: HookWorld) -> None:
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


def test_a_stop_of_another_agent_is_not_ours(world: HookWorld) -> None:
    request, _, _ = world.begin()

    world.stop("somebody-else", GOOD)

    assert world.code(request) is None


def test_an_agent_that_never_stops_is_missed(world: HookWorld) -> None:
    request, _ = world.working()

    world.say("Stop", background_tasks=[])

    assert world.code(request) == "agent_stopped"


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


def test_an_agent_that_ends_with_the_turn_is_heard(
    world: HookWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client no longer lists it, but the hook of its own end has yet to start."""
    request, agent = world.working()
    clock = Waiting(lambda: world.stop(agent, GOOD))
    monkeypatch.setattr(unseen_ends, "time", clock)

    world.say("Stop", background_tasks=[])

    assert clock.waited_s > 0
    assert world.code(request) == "success"


def test_agents_that_are_missed_are_waited_for_at_once(
    world: HookWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, many would outlast the hook, which then offers nothing."""
    begun = [world.working() for _ in range(4)]
    clock = Waiting(lambda: world.stop(begun[1][1], GOOD))
    monkeypatch.setattr(unseen_ends, "time", clock)

    world.say("Stop", background_tasks=[])

    assert unseen_ends.SETTLE_S <= clock.waited_s < 1.5 * unseen_ends.SETTLE_S
    codes = [world.code(request) for request, _ in begun]
    stopped = "agent_stopped"
    assert codes == [stopped, "success", stopped, stopped]


def test_a_host_that_says_it_is_done_is_not_believed(world: HookWorld) -> None:
    """No agent ran, whatever the last words of the turn are."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")

    world.say("Stop", background_tasks=[], last_assistant_message=GOOD)

    assert world.found(request).response is None


def test_a_host_that_writes_an_answer_itself_is_not_believed(world: HookWorld) -> None:
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


def test_error_an_answer_to_what_was_asked_before(world: HookWorld) -> None:
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


def test_the_longest_time_that_can_be_asked_for(world: HookWorld) -> None:
    """Its deadline lies beyond every moment that a record may name."""
    request = world.submit(timeout_s=(2**53 - 1) // 1000)
    world.say("UserPromptSubmit", prompt="hello")

    world.stop(world.start(world.launch(request)))

    assert world.code(request) == "success"


# What the alarm interrupts may be a callback of the test runner's.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_error_an_answer_that_cannot_be_checked_in_time(
    world: HookWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left to the hook's own limit, the words were lost and the agent called silent."""
    monkeypatch.setattr(capture, "JUDGE_S", 0.001)
    world.drop("slow", prompt="?", schema={"items": {"type": "object"}})
    world.say("UserPromptSubmit", prompt="hello")
    agent = world.start(world.launch("slow"))
    words = json.dumps([{"n": n} for n in range(40_000)])

    for _ in range(3):
        world.stop(agent, words)

    response = world.response("slow")
    assert response.error is not None
    assert response.error.code == "schema_mismatch"
    assert response.error.message.endswith(
        "the answer could not be checked against its schema within 0.001 s"
    )
    assert response.raw_output == words


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        ('Agent "x (429)" failed: Agent terminated early', "agent_error"),
        ('Agent "x" failed: API Error: Request rejected (429)', "quota"),
    ],
)
def test_a_failed_notice_that_comes_first_has_its_own_code(
    world: HookWorld, summary: str, code: str
) -> None:
    """StopFailure may come after it; the words of a description are not the reason."""
    request, agent = world.working()

    swallowed = world.notice(agent, "failed", summary=summary, result=GOOD)

    assert world.code(request) == code
    assert swallowed["decision"] == "block"
    assert swallowed["reason"].startswith(f"hostbridge: {request} {code} after")


def test_a_handback_and_a_stop_come_in_either_order(world: HookWorld) -> None:
    for first in ("message", "stop"):
        request, _, agent = world.begin()
        world.use(agent, "SubagentHandback", tool_input={"message": GOOD})
        message = f'<agent-message from="{agent}">\n{GOOD}\n</agent-message>'
        if first == "stop":
            world.stop(agent, None)
        said = world.say("UserPromptSubmit", prompt=message)
        if first == "message":
            world.stop(agent, None)

        assert world.code(request) == "success"
        assert said["decision"] == "block"
        assert world.runs() == []


def test_a_message_is_the_last_chance_of_a_report_nobody_saw(world: HookWorld) -> None:
    request, agent = world.working()
    frame = "[Subagent hand-back] … The report follows:\n"

    world.say(
        "UserPromptSubmit",
        prompt=f'<agent-message from="{agent}">\n{frame}  {GOOD}\n</agent-message>',
    )

    assert world.response(request).raw_output == GOOD


def test_agents_that_the_user_stopped(world: HookWorld) -> None:
    """The client names them by description; ours end in the request's id."""
    first, _, _ = world.begin()
    second, _, _ = world.begin()
    names = ", ".join(f'"hostbridge: a test [{each}]"' for each in (first, second))

    said = world.say(
        "UserPromptSubmit",
        prompt=f"2 background agents were stopped by the user: {names}.",
    )

    assert (world.code(first), world.code(second)) == ("agent_stopped",) * 2
    assert said["decision"] == "block"


def test_a_helper_that_was_stopped_with_its_agent_is_ours(world: HookWorld) -> None:
    """The keys stop all: the host has not started it, and need not hear of it."""
    request, _, agent = world.begin()
    helper = world.nest(agent)
    world.use(helper)

    said = world.say(
        "UserPromptSubmit",
        prompt="2 background agents were stopped by the user: "
        f'"hostbridge: a test [{request}]", "d".',
    )

    assert world.code(request) == "agent_stopped"
    assert said["decision"] == "block"
    assert world.runs() == []


def test_the_host_hears_of_other_agents_that_the_user_stopped(
    world: HookWorld,
) -> None:
    request, _, _ = world.begin()

    said = world.say(
        "UserPromptSubmit",
        prompt="2 background agents were stopped by the user: "
        f'"hostbridge: a test [{request}]", "the user\'s own".',
    )

    assert world.code(request) == "agent_stopped"
    assert "decision" not in said


def test_the_end_of_a_session_lets_go_but_not_on_clear(world: HookWorld) -> None:
    request, _ = world.working()

    world.fire("SessionEnd", reason="clear")
    after_clear = (world.found(request).status, len(world.runs()), len(world.live()))
    world.fire("SessionEnd", reason="other")
    after_end = (world.found(request).status, len(world.runs()), len(world.live()))

    assert after_clear == ("processing", 1, 1)
    assert after_end == ("pending", 0, 0)


def test_agents_of_dead_clients_are_forgotten(world: HookWorld) -> None:
    """Otherwise every tool call of every later session would look at them."""
    _, agent = world.working()
    (run,) = world.runs()
    world.change("agents", agent, host=run.host.to_data() | {"startTime": "1"})

    world.fire("SessionStart", source="startup")

    assert world.runs() == []


def _in_a_container(world: HookWorld, agent: str, *, answer_by: int) -> None:
    """Have the client of an agent be one that ran in a container, with the same pid."""
    folder = world.store.place.state / "agents"
    for file in (folder / f"{agent}.json", folder / "t.bash"):
        record = json.loads(file.read_text())
        record["host"]["pidNamespace"] = "pid:[4]"
        record |= {"launchedAt": 1, "answerBy": answer_by, "session": "session-0"}
        file.write_text(json.dumps(record))


def _runs_a_command(world: HookWorld) -> str:
    """An agent of a client that runs a Bash command right now."""
    _, agent = world.working()
    world.note_command("t.bash", "old", agentId=agent)
    return agent


def test_agents_of_clients_in_a_container_are_forgotten_after_the_lease(
    world: HookWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody sees them die. One that may still answer is silent during a command."""
    monkeypatch.setenv("BRIDGE_LEASE_S", "60")
    agent = _runs_a_command(world)
    now_ms = world.store.now_ms()
    left = []
    for answer_by in (now_ms - 30_000, now_ms - 90_000):
        _in_a_container(world, agent, answer_by=answer_by)
        world.fire("SessionStart", source="startup")
        agents = world.store.place.state / "agents"
        left.append(sorted(file.name for file in agents.iterdir()))

    assert left == [sorted([f"{agent}.json", f"{agent}.calls", "t.bash"]), []]


def test_what_another_client_left_makes_nobody_a_child(world: HookWorld) -> None:
    """In a container that is started again, a client commonly has the same pid."""
    agent = _runs_a_command(world)
    pid = int(os.environ["CLAUDE_PID"])
    mine = running_bash_depth(world.store, pid)

    _in_a_container(world, agent, answer_by=world.store.now_ms())
    of_another = running_bash_depth(world.store, pid)

    assert (mine, of_another) == (("old", 0), None)


def test_a_command_in_a_sandbox_is_told_by_the_pid(world: HookWorld) -> None:
    """It cannot see its client: what it has of it is the pid in its environment."""
    _runs_a_command(world)
    file = world.store.place.state / "agents" / "t.bash"
    note = json.loads(file.read_text())
    unseen = 2**31 - 1
    note["host"]["pid"] = unseen
    file.write_text(json.dumps(note))

    assert running_bash_depth(world.store, unseen) == ("old", 0)
