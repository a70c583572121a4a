"""What each outcome gives to the program that asked."""

import json
import time

import pytest
from aheadclock import AheadClock
from hypothesis import find
from polling import wait_until
from programs import MODULES, command

from bridge import Bridge, InvalidRequest, RequestFailed, ask
from bridge.protocol.failure_codes import ANSWERED
from bridge.testing import CODES, answer, answering, asks, failure, outcomes, says

pytestmark = pytest.mark.usefixtures("project")


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

    assert (got.success, got.error.code) == (False, code)
    assert (got.parsed.status, got.parsed.summary) == (status, "no disk")


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
        bridge = Bridge.open()

        def tries():
            """Its end is written down after its answer."""
            events = [e["event"] for e in bridge.story(got.request_id).history]
            return events if "completed" in events else None

        known = ("claimed", "waiting again", "completed")
        tried = [event for event in wait_until(tries) if event in known]
        with pytest.raises(RequestFailed) as caught:
            ask("?")

    assert got.success
    assert tried == ["claimed", "waiting again", "claimed", "completed"]
    assert caught.value.code == "host_gone"


def test_the_first_of_two_answers_counts():
    with answering(answer({"modules": []}, then='{"modules": ["late"]}')):
        bridge = Bridge.open()
        got = bridge.ask("?", schema=MODULES)
        evidence = wait_until(lambda: bridge.story(got.request_id).evidence)

    assert got.parsed == {"modules": []}
    expected = [("a second agent", '{"modules": ["late"]}')]
    assert [(e["source"], e["rawOutput"]) for e in evidence] == expected


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


CURRENCY = "Which currency?"
WHICH = asks(CURRENCY, {"enum": ["euros", "dollars"]})


def test_an_agent_asks_back_and_goes_on_with_the_reply():
    """The program's own function is called, and a reply of another form refused."""
    heard = []

    def told(request):
        if not request.exchanges:
            return WHICH
        heard.extend(request.exchanges)
        return answer()

    with answering(told):
        done = ask("Print the prices.", on_question=lambda _: "euros")
    with answering([WHICH, answer()]), pytest.raises(InvalidRequest, match="pounds"):
        ask("Print the prices.", on_question=lambda _: "pounds")
    with answering(WHICH), pytest.raises(RequestFailed) as caught:
        ask("Print the prices.")

    assert done.success
    assert [(each.words, each.reply) for each in heard] == [(CURRENCY, "euros")]
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


def test_a_reply_is_not_late_because_the_process_did_not_run(monkeypatch):
    """On a busy machine nobody schedules it for seconds: that changes no answer."""
    clock = AheadClock()
    monkeypatch.setattr("bridge.testing.answerer.time", clock)

    def reply(_question):
        clock.ahead_s = 3600
        time.sleep(0.2)
        return "euros"

    with answering([WHICH, answer()]):
        assert ask("?", on_question=reply, timeout_s=86_400).success


def test_a_question_that_nobody_replies_to_ends_as_at_its_deadline():
    """Else a test would wait for it, in real time."""
    with answering(WHICH, reply_s=0.1), pytest.raises(RequestFailed) as caught:
        ask("?", on_question=lambda _: None, timeout_s=86_400)

    assert caught.value.code == "timeout"
    assert caught.value.response.duration == 86_400_000
    assert "Which currency?" in str(caught.value)
