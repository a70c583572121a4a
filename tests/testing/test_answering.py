"""What a program gets within `answering`, however it asks."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import find
from polling import wait_until

from bridge import (
    AsyncBridge,
    Bridge,
    BridgeError,
    InvalidRequest,
    NoHost,
    NoRoute,
    RequestFailed,
    ask,
)
from bridge.protocol.failure_codes import ANSWERED
from bridge.testing import (
    CODES,
    Unscripted,
    answer,
    answering,
    asks,
    failure,
    outcomes,
    says,
)

MODULES = {"type": "object", "required": ["modules"]}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    """A project of nobody's; what the program asks must not reach a real one."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def echo(request):
    return answer({"status": "success", "summary": request.prompt})


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "bridge", *words],
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_answer_is_a_real_record():
    with answering(answer({"modules": ["billing"]})) as asked:
        bridge = Bridge.open()
        got = bridge.ask("Which?", schema=MODULES)
        story = bridge.story(got.request_id)

        assert (got.parsed, got.success, got.route) == (
            {"modules": ["billing"]},
            True,
            "host",
        )
        assert [each["event"] for each in story.history] == [
            "submitted",
            "claimed",
            "launched",
            "completed",
        ]
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
        with answering(echo) as block, ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, asked))

        assert [each.prompt for each in block.requests] == [*"abcd"]


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


@pytest.mark.parametrize("code", [c for c in CODES if c not in ("no_host", *ANSWERED)])
def test_each_failure_arrives_under_its_code(code):
    with answering(failure(code)), pytest.raises(RequestFailed) as caught:
        ask("?")

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("code", "status"), [("agent_failed", "failed"), ("agent_blocked", "blocked")]
)
def test_an_agent_that_reports_failure_has_answered(code, status):
    with answering(failure(code, message="no disk")):
        got = ask("?")

    assert (got.success, got.parsed.status, got.parsed.summary) == (
        False,
        status,
        "no disk",
    )
    assert got.error.code == code


def test_without_a_session_nothing_is_asked():
    with answering(failure("no_host")) as block:
        with pytest.raises(NoHost):
            ask("?")
        bridge = Bridge.open()
        with pytest.raises(RequestFailed, match="no open session could take it"):
            bridge.wait(bridge.submit("?"))

    assert block.requests == []


@pytest.mark.parametrize(
    ("words", "code"),
    [("", "empty_answer"), ("It is fine.", "no_json"), ('{"a": 1}', "schema_mismatch")],
)
def test_words_count_for_what_they_are_worth(words, code):
    with answering(says(words)), pytest.raises(RequestFailed) as caught:
        ask("?", schema=MODULES)

    assert (caught.value.code, caught.value.response.raw_output) == (code, words)


def test_time_is_told_and_not_waited_for():
    began_s = time.monotonic()

    with answering([answer(after_s=90), answer(after_s=3600)]):
        assert ask("?", timeout_s=600).duration_s == 90
        with pytest.raises(RequestFailed) as caught:
            ask("?", timeout_s=600)

    assert caught.value.code == "timeout"
    assert caught.value.response.duration == 600_000
    assert time.monotonic() - began_s < 90


def test_after_a_crash_another_try_answers():
    """A real process dies with the claim, and whoever looks takes it back."""
    with answering([answer(crashes=1), answer(crashes=2)]):
        got = ask("?")
        tries = [
            each["event"]
            for each in Bridge.open().story(got.request_id).history
            if each["event"] in ("claimed", "waiting again", "completed")
        ]
        with pytest.raises(RequestFailed) as caught:
            ask("?")

    assert got.success
    assert tries == ["claimed", "waiting again", "claimed", "completed"]
    assert caught.value.code == "host_gone"


def test_the_first_of_two_answers_counts():
    with answering(answer({"modules": []}, then='{"modules": ["late"]}')):
        bridge = Bridge.open()
        got = bridge.ask("?", schema=MODULES)
        evidence = wait_until(lambda: bridge.story(got.request_id).evidence)

    assert got.parsed == {"modules": []}
    assert [(e["source"], e["rawOutput"]) for e in evidence] == [
        ("a second agent", '{"modules": ["late"]}')
    ]


def test_error_asked_more_often_than_answered():
    """The program may swallow what it gets: the test fails all the same."""
    with (
        pytest.raises(Unscripted) as caught,
        answering([answer()]),
        pytest.raises(RequestFailed),
    ):
        [ask(word) for word in ("one", "two")]

    assert str(caught.value) == (
        "general-purpose was asked 'two', and only 1 outcome was given"
    )


def test_error_an_agent_without_outcomes():
    with (
        pytest.raises(Unscripted) as caught,
        answering({"Plan": answer(), "Explore": answer()}),
        pytest.raises(RequestFailed),
    ):
        ask("one")

    assert str(caught.value) == (
        "general-purpose was asked 'one'; there are outcomes for: Explore, Plan"
    )


def test_what_a_script_raises_ends_the_test():
    def broken(_):
        raise ZeroDivisionError

    def program():
        with suppress(RequestFailed):
            ask("one")
        with suppress(RequestFailed):
            ask("two")

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


def test_an_outcome_prints_the_call_that_makes_it():
    """What a failing test shows can be pasted into the next one."""
    made = [
        answer(),
        answer({"a": [1, None]}, degraded=True, after_s=2.5, crashes=1, then="{}"),
        says("prose"),
        says('{"a":1}'),
        says("null"),
        says("NaN"),
        failure("quota"),
        failure("agent_error", message="529", words="?"),
        asks("Which?", {"enum": [1, 2]}),
        answer({"hostbridge_question": "?"}),
    ]

    assert [eval(repr(each)) for each in made] == made  # noqa: S307
    assert repr(made[-2]) == "asks('Which?', {'enum': [1, 2]})"


def test_none_is_an_answer():
    """`int | None` allows it."""
    drawn = find(outcomes({"type": ["integer", "null"]}), lambda o: o == answer(None))

    with answering(drawn):
        assert ask("?", schema={"type": ["integer", "null"]}).parsed is None


def test_error_no_such_code():
    with pytest.raises(ValueError, match="code 'quotas': expected one of no_host, "):
        failure("quotas")


def test_a_program_may_ask_what_the_session_knows():
    """Nobody's conversation is shown, so nobody has to say yes."""
    with answering(echo) as block:
        known = ask("What did we decide?", context="session")

    assert known.parsed.summary == "What did we decide?"
    assert [each.context_from for each in block.requests] == ["session"]


def test_an_agent_asks_back_and_goes_on_with_the_reply():
    """The program's own function is called, and a reply of another form refused."""
    which = asks("Which currency?", {"enum": ["euros", "dollars"]})
    heard = []

    def told(request):
        if not request.exchanges:
            return which
        heard.extend(request.exchanges)
        return answer()

    with answering(told):
        done = ask("Print the prices.", on_question=lambda _: "euros")
    with answering([which, answer()]), pytest.raises(InvalidRequest, match="pounds"):
        ask("Print the prices.", on_question=lambda _: "pounds")
    with answering(which), pytest.raises(RequestFailed) as caught:
        ask("Print the prices.")

    assert done.success
    assert [(each.words, each.reply) for each in heard] == [
        ("Which currency?", "euros")
    ]
    assert caught.value.code == "schema_mismatch"


def test_who_asks_again_gets_the_earlier_answer():
    """In a process of its own, too; what a session would not give again is asked."""
    with answering([answer(after_s=90)]) as block:
        got = [ask("?", cached=True) for _ in range(2)]
        done = command("ask", "?", "--cached", "--json")
    with answering([failure("quota"), answer(degraded=True), answer()]):
        with pytest.raises(RequestFailed):
            ask("?", cached=True)
        asked = [ask("?", cached=True) for _ in range(2)]

    assert [each.cached for each in got] == [False, True]
    assert got[1].response == got[0].response
    assert json.loads(done.stdout)["cached"] is True
    assert len(block.requests) == 1
    assert [each.cached for each in asked] == [False, False]


def test_a_question_that_nobody_replies_to_ends_as_at_its_deadline():
    """Else a test would wait for it, in real time."""
    which = asks("Which currency?", {"enum": ["euros", "dollars"]})

    with (
        answering(which, reply_s=0.1),
        pytest.raises(RequestFailed) as caught,
    ):
        ask("?", on_question=lambda _: None, timeout_s=86_400)

    assert (caught.value.code, caught.value.response.duration) == (
        "timeout",
        86_400_000,
    )
    assert "Which currency?" in str(caught.value)
