"""An agent that a process serves asks back: the process waits for the reply."""

import asyncio
import json
import os
import threading
import time

import pytest
from fakeclaude import fake_claude, result, trust_folder
from loopworld import AGENT
from runworld import call, submit

from bridge import AsyncBridge, Bridge, InvalidRequest, RequestFailed
from bridge.protocol.ids import RequestId
from bridge.protocol.question import Asked
from bridge.protocol.status import Stage
from bridge.store import Claimant
from bridge.store.clock import SystemClock
from bridge.store.host_process import identify
from bridge.worker import asking, executors
from bridge.worker.executors import open_workers
from bridge.worker.heartbeat import Watch

pytestmark = pytest.mark.slow

ASKS = call("ask_question", words="Which colour?", choices=["red", "blue"])
GOOD = json.dumps({"status": "success", "summary": "s"})


def question(words: str = "Which colour?") -> str:
    form = {"enum": ["red", "blue"]}
    return json.dumps({"hostbridge_question": {"words": words, "form": form}})


def test_the_loop_goes_on_with_the_reply(loop):
    seen = []

    response = loop.run(
        ASKS, submit(), on_question=lambda asked: seen.append(asked) or "red"
    )

    assert response.success
    [asked] = seen
    expected = ("Which colour?", {"enum": ["red", "blue"]}, "checker")
    assert (asked.words, asked.form, asked.agent_type) == expected
    (said,) = loop.model.results()
    assert '"red"' in said
    done = loop.bridge.status(response.request_id).request
    wanted = [("Which colour?", "red")]
    assert [(each.words, each.reply) for each in done.exchanges] == wanted


def test_without_leave_the_loop_has_no_such_tool(loop):
    loop.run(ASKS, submit())

    assert "no tool is named 'ask_question'" in loop.model.results()[0]


def test_a_definition_lets_its_agent_ask(loop):
    loop.define("checker", AGENT + "allow_questions: true\n")

    response = loop.run(ASKS, submit(), on_question=lambda _: "blue", may_ask=False)

    assert response.success
    assert '"blue"' in loop.model.results()[0]


def test_the_fourth_question_of_the_loop_is_refused(loop):
    asked = []

    four = [call("ask_question", words=f"Number {n}?") for n in range(1, 5)]
    loop.run(*four, submit(), on_question=lambda q: asked.append(q) or "red")

    assert [q.number for q in asked] == [1, 2, 3]
    assert "you have asked 3 questions, the most" in loop.model.results()[3]


def test_a_reply_of_another_form_is_its_callers_mistake(loop):
    """The request ends, as with anything else that a callback raises."""
    with pytest.raises(InvalidRequest) as caught:
        loop.run(ASKS, submit(), on_question=lambda _: "green")

    assert 'asks for another form: $: "green" is not one of' in caught.value.what
    found = loop.bridge.status(str(caught.value.request_id))
    assert found.response.error.code == "cancelled"


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_clock_that_is_set_while_somebody_thinks_costs_no_reply(loop, seconds):
    """The question has the time that it had, by the clock that nobody sets."""
    before = SystemClock.now_us

    def think(_question):
        loop.patch.setattr(
            SystemClock, "now_us", lambda clock: before(clock) + seconds * 1_000_000
        )
        return "red"

    response = loop.run(ASKS, submit(), on_question=think, timeout_s=60)

    assert response.success
    assert '"red"' in loop.model.results()[0]


def times_out(loop, **options):
    """It asks, and the request ends by its deadline, which the response says."""
    with pytest.raises(RequestFailed) as caught:
        loop.run(ASKS, submit(), timeout_s=600, **options)
    failure = caught.value.response.error
    assert (failure.code, failure.stage) == ("timeout", Stage.ASKING)
    assert "question 1: Which colour?" in failure.message


def test_a_question_to_nobody_ends_at_the_deadline_by_name(loop):
    clock = loop.bridge.store.clock

    def wait_in_vain(stage):
        if stage is Stage.ASKING:
            clock.ahead_s = 3600

    times_out(loop, may_ask=True, on_stage=wait_in_vain)


@pytest.mark.parametrize("wall_s", [0, -3600], ids=["", "clock set back"])
def test_a_reply_after_the_deadline_changes_nothing(loop, wall_s):
    """The caller's function took too long: that is what the response says."""
    clock = loop.bridge.store.clock

    def slow(_question):
        clock.ahead_s, clock.wall_s = 3600, wall_s
        return "red"

    times_out(loop, on_question=slow)


def test_a_reply_that_comes_as_its_agent_ends_is_told_to_the_next(loop):
    """Its question is not taken for the answer."""
    store = loop.bridge.store
    request = loop.bridge.submit("Look.", "checker", route="endpoint", may_ask=True)
    me = identify(os.getpid())
    watch = Watch(store, store.claim_one(request, Claimant("s", me)), lambda _: None)
    ask = asking.QuestionRelay(store, request, me, watch, hold_s=0)

    assert ask(Asked("Which colour?", {"enum": ["red"]})) is None
    loop.bridge.reply(request, "red")

    assert [each.reply for each in ask.open_request().exchanges] == ["red"]


def test_serve_holds_an_agent_for_a_moment_and_asks_anew(loop, monkeypatch):
    """Whatever else waits is not to wait for a person."""
    monkeypatch.setattr(executors, "HOLD_S", 0.2)
    request = loop.bridge.submit("Look.", "checker", route="endpoint", may_ask=True)
    loop.serve(ASKS, submit())
    bridge = loop.bridge
    (worker,) = open_workers(bridge.store, bridge.settings, ["endpoint"]).values()

    assert worker.serve(request)
    assert loop.bridge.status(request).request.stage is Stage.ASKING
    assert not worker.serve(request)
    loop.bridge.reply(request, "red")
    loop.model.replies[:] = [submit()]
    assert worker.serve(request)

    task = loop.model.asked[-1][-1].content
    assert "Which colour?" in task
    assert '"red"' in task
    assert loop.bridge.status(request).response.success
    assert asking.HOLD_S == 15


TWICE = """\
n=$(cat "$here/count" 2>/dev/null || echo 0)
echo $((n + 1)) >"$here/count"
cp "$here/stdin" "$here/stdin$n"
cp "$here/argv" "$here/argv$n"
if [ "$n" = 0 ]; then
cat <<'END'
{first}
END
else
cat <<'END'
{second}
END
fi
"""


def test_claude_p_is_resumed_with_the_reply(loop):
    usage = {"m": {"inputTokens": 10, "outputTokens": 1}}
    first = result(result=question(), session_id="abc-1", modelUsage=usage)
    second = result(result=GOOD, session_id="abc-1", modelUsage=usage)
    lines = TWICE.replace("{first}", first).replace("{second}", second)
    program = fake_claude(loop.home / "fake", lines)
    trust_folder(loop.home.parent, loop.bridge.store.place.project)
    loop.patch.setenv("BRIDGE_CLAUDE", str(program))

    bridge = Bridge.open(loop.bridge.store.place.project)
    answer = bridge.ask("Paint it.", route="claude", on_question=lambda _: "blue")

    fake = loop.home / "fake"
    assert answer.success
    assert (fake / "count").read_text() == "2\n"
    assert "hostbridge_question" in (fake / "stdin0").read_text()
    assert "--json-schema" not in (fake / "argv0").read_text()
    assert "--resume\nabc-1\n" in (fake / "argv1").read_text()
    told = (fake / "stdin1").read_text()
    assert '"blue"' in told
    assert "Paint it." not in told
    assert answer.response.usage.tokens == 22
    found = loop.bridge.status(RequestId(answer.request_id)).request
    assert [each.reply for each in found.exchanges] == ["blue"]


def test_a_coroutine_answers_for_asyncio(loop):
    """The loop runs it, while a thread waits for the answer."""
    seen = []

    async def reply(_question):
        await asyncio.sleep(0)
        seen.append(threading.current_thread() is threading.main_thread())
        return "red"

    async def ask():
        bridge = AsyncBridge(loop.bridge)
        with pytest.raises(InvalidRequest, match="expected a function"):
            await bridge.ask("Look.", "checker", on_question="red")
        return await bridge.ask("Look.", "checker", route="endpoint", on_question=reply)

    loop.serve(ASKS, submit())
    answer = asyncio.run(ask())

    assert answer.success
    assert seen == [True]


def test_who_is_cancelled_leaves_no_question_behind(loop):
    """Nobody wants the answer any more, so nobody is to go on with a reply either."""
    said = []
    is_asked = asyncio.Event()

    async def reply(_question):
        is_asked.set()
        try:
            await asyncio.sleep(300)
        finally:
            said.append("over")

    async def ask():
        bridge = AsyncBridge(loop.bridge)
        asked = bridge.ask("Look.", "checker", route="endpoint", on_question=reply)
        waiting = asyncio.create_task(asked)
        await is_asked.wait()
        [open_question] = loop.bridge.questions()
        waiting.cancel()
        until_s = time.monotonic() + 300
        while time.monotonic() < until_s:
            if end := loop.bridge.status(open_question.request_id).response:
                return end.error.code
            await asyncio.sleep(0.05)
        return None

    loop.serve(ASKS, submit())

    assert asyncio.run(ask()) == "cancelled"
    assert said == ["over"]
