"""What a program gets within `answering`, however it asks."""

import asyncio
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from polling import wait_until
from programs import MODULES, command

from bridge import AsyncBridge, Bridge, BridgeError, NoHost, NoRoute, RequestFailed, ask
from bridge.testing import Unscripted, answer, answering, failure

pytestmark = [pytest.mark.usefixtures("project"), pytest.mark.slow]


def echo(request):
    return answer({"status": "success", "summary": request.prompt})


def test_an_answer_is_a_real_record():
    with answering(answer({"modules": ["billing"]})) as asked:
        bridge = Bridge.open()
        got = bridge.ask("Which?", schema=MODULES)
        story = bridge.story(got.request_id)

        assert got.parsed == {"modules": ["billing"]}
        assert (got.success, got.route) == (True, "host")
        events = [each["event"] for each in story.history]
        assert events == ["submitted", "claimed", "launched", "completed"]
    assert [each.prompt for each in asked.requests] == ["Which?"]
    assert asked.outcomes == [answer({"modules": ["billing"]})]


def test_a_command_is_answered_too():
    """In a process of its own, which finds the state by its environment."""
    with answering([answer(), answer(degraded=True), failure("quota")]):
        done = [command("ask", "?", "--json") for _ in range(3)]

    assert [each.returncode for each in done] == [0, 7, 1]
    assert json.loads(done[2].stdout)["error"]["code"] == "quota"


def test_asyncio_and_threads_get_their_own_answers():
    async def both():
        bridge = AsyncBridge.open()
        return await asyncio.gather(bridge.ask("a"), bridge.ask("b"))

    with answering(echo), ThreadPoolExecutor(2) as pool:
        got = [*asyncio.run(both()), *pool.map(ask, "cd")]

    assert [each.parsed.summary for each in got] == ["a", "b", "c", "d"]


def test_threads_are_answered_in_one_order():
    """Which thread was quicker is no part of an example."""
    for asked in ("abcd", "dcba"):
        is_begun = threading.Event()

        def when_all_wait(request):
            """The first is answered when all others wait: how soon is chance."""
            is_begun.set()  # noqa: B023 - called in this round
            if request.prompt == "first":
                wait_until(lambda: Bridge.open().overview().waiting == 4)
            return echo(request)

        with answering(when_all_wait) as block, ThreadPoolExecutor(5) as pool:
            pool.submit(ask, "first")
            assert is_begun.wait(300)
            list(pool.map(ask, asked))

        assert [each.prompt for each in block.requests] == ["first", *"abcd"]


def test_what_was_submitted_is_answered():
    with answering(answer()):
        bridge = Bridge.open()
        ids = [bridge.submit("?"), bridge.submit("Which?")]

        assert [each.success for each in bridge.wait(ids)] == [True, True]


def test_what_nobody_waits_for_is_answered_in_the_order_in_which_it_was_asked():
    """Whether and when it is drawn would be chance, and a seed would repeat nothing."""
    asked = []
    for _ in range(20):
        with answering(echo) as block:
            bridge = Bridge.open()
            for prompt in "cab":
                bridge.submit(prompt)
        asked.append("".join(each.prompt for each in block.requests))

    assert asked == ["cab"] * 20


def test_a_flow_is_answered_agent_by_agent():
    script = {"Explore": answer({"status": "success", "summary": "a.py"})}
    script["general-purpose"] = echo

    with answering(script):
        done = Bridge.open().run('Explore:"Find":found -> general-purpose:"{found}":x')

    assert (done.status, done.variables["x"]) == ("completed", "a.py")


def test_without_a_session_nothing_is_asked():
    with answering(failure("no_host")) as block:
        with pytest.raises(NoHost):
            ask("?")
        bridge = Bridge.open()
        with pytest.raises(RequestFailed, match="no open session could take it"):
            bridge.wait(bridge.submit("?"))

    assert block.requests == []


BY_AGENT = {"Plan": answer(), "Explore": answer()}


@pytest.mark.parametrize(
    ("script", "prompts", "problem"),
    [
        ([answer()], ["one", "two"], "'two', and only 1 outcome was given"),
        (BY_AGENT, ["one"], "'one'; there are outcomes for: Explore, Plan"),
    ],
    ids=["asked more often", "another agent"],
)
def test_error_what_there_is_no_answer_for(script, prompts, problem):
    """The program may swallow what it gets: the test fails all the same."""
    with (
        pytest.raises(Unscripted) as caught,
        answering(script),
        pytest.raises(RequestFailed),
    ):
        [ask(word) for word in prompts]

    assert str(caught.value) == f"general-purpose was asked {problem}"


def test_a_block_that_is_entered_again_begins_anew():
    block = answering([answer("first"), answer("second")])

    for _ in range(2):
        with block:
            assert ask("?", schema={"type": "string"}).parsed == "first"


def test_what_a_script_raises_ends_the_test():
    def broken(_):
        raise ZeroDivisionError

    def program():
        for word in ("one", "two"):
            with suppress(RequestFailed):
                ask(word)

    with pytest.raises(ZeroDivisionError), answering(broken):
        program()


@pytest.mark.parametrize("route", ["claude", "endpoint", "local"])
def test_no_model_is_reached(route, monkeypatch):
    """A test must not spend anybody's tokens, whatever the machine is set up with."""
    monkeypatch.setenv("BRIDGE_CLAUDE", sys.executable)
    monkeypatch.setenv("BRIDGE_OPENAI_BASE_URL", "http://127.0.0.1:9")

    with answering(answer()), pytest.raises((NoRoute, RequestFailed)) as caught:
        ask("?", route=route)

    assert caught.value.code in ("no_route", "model_unavailable", "extra_missing")


def test_the_world_outside_is_as_it_was(monkeypatch, tmp_path):
    """In a session, too: within the block nothing is below its client."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    monkeypatch.setenv("CLAUDECODE", "1")
    before = dict(os.environ)

    with answering(answer()):
        root = Path(os.environ["BRIDGE_HOME"]).parent
        assert ask("?").success

    assert dict(os.environ) == before
    assert not root.exists()
    assert not (tmp_path / "home").exists()


def test_agents_of_the_project_can_be_asked(project):
    """Nobody agrees to them on a machine that only tests; outside all is as it was."""
    agent = project / ".bridge" / "agents" / "reviewer.yaml"
    agent.parent.mkdir(parents=True)
    agent.write_text(
        "name: reviewer\ndescription: looks\nprompt: 'Look: {{ task }}'\n"
        "output_schema: {type: object, required: [ok]}\n"
    )

    with answering(answer({"ok": True})) as block:
        got = ask("all of it", agent="reviewer")

    assert got.parsed == {"ok": True}
    assert block.requests[0].answer_schema == {"type": "object", "required": ["ok"]}
    with pytest.raises(BridgeError):
        ask("all of it", agent="reviewer")


def test_a_program_may_ask_what_the_session_knows():
    """Nobody's conversation is shown, so nobody has to say yes."""
    with answering(echo) as block:
        known = ask("What did we decide?", context="session")

    assert known.parsed.summary == "What did we decide?"
    assert [each.context_from for each in block.requests] == ["session"]
