"""Serve a request in this process: what every kind of end leaves on disk."""

import json
import os
import shutil
from typing import Any

import pytest
from servingworld import (
    GOOD,
    A,
    Scripted,
    failure,
    new_worker,
    response,
    saying,
    until_stopped,
)
from storeworld import claimant, folders_of, request, store_in, take

from bridge.api.wait import Waiter
from bridge.errors import InvalidRequest, StateUnavailable, StateVanished
from bridge.protocol.claimed_commands import ToolCall
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import Judgement
from bridge.protocol.outcome import Outcome
from bridge.protocol.response import failed
from bridge.protocol.status import Stage, ignore
from bridge.store.host_process import identify
from bridge.store.switch import switch_off
from bridge.worker import publisher

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path):
    made = store_in(tmp_path)
    # One try: what follows a failed one is in test_tries.py.
    made.submit(request("a", route="claude", max_attempts=1, wait_quota=False))
    return made


def test_a_valid_answer_is_published_as_on_the_host_route(store):
    outcome = Outcome(GOOD, model="claude-opus-5-5", degraded=True)

    assert new_worker(store, saying(outcome)).serve(A)

    ended = response(store)
    assert (ended.success, ended.route, ended.degraded) == (True, "claude", True)
    assert (ended.model, ended.raw_output) == ("claude-opus-5-5", GOOD)
    assert ended.parsed_output["summary"] == "fine"
    assert folders_of(store, "a") == ["done"]


def test_the_record_names_the_process_that_serves_it(store):
    seen = []

    def look(asked, _control):
        seen.append((asked, store.find(A)))
        return Outcome(GOOD)

    new_worker(store, Scripted(look)).serve(A)

    ((asked, found),) = seen
    assert found.request == asked
    assert asked.claim.route == "claude"
    assert asked.claim.session == f"claude-{os.getpid()}"
    assert asked.claim.host == identify(os.getpid())
    assert asked.stage is Stage.RUNNING


RAN = {"type": "t", "content": "c", "command": "pytest -q"}
CLAIMED = json.dumps({"status": "success", "summary": "ran", "evidence": [RAN]})
REJECTED = Judgement(code="schema_mismatch", complaint="no")
NO = '{"status": "failed", "summary": "no"}'
ENDS = {
    "prose": (Outcome("All is well."), "no_json", "failed"),
    "nothing": (Outcome(""), "empty_answer", "failed"),
    "not by the schema": (Outcome('{"status": "great"}'), "schema_mismatch", "failed"),
    "the agent failed": (Outcome(NO), "agent_failed", "completed"),
    "no answer": (Outcome("half", "agent_error", "it broke"), "agent_error", "failed"),
    "late": (Outcome("half", "timeout"), "timeout", "timeout"),
    "unseen calls": (Outcome(CLAIMED, calls=()), "unverified", "failed"),
    "rejected by the executor": (
        Outcome(GOOD, verdict=REJECTED),
        *("schema_mismatch", "failed"),
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_error_code_of_an_end(store, name):
    outcome, code, status = ENDS[name]

    new_worker(store, saying(outcome)).serve(A)

    ended = response(store)
    assert (ended.error.code, ended.status, ended.success) == (code, status, False)
    assert (ended.raw_output, ended.route) == (outcome.words, "claude")
    assert (ended.parsed_output is not None) == (status == "completed")


def test_error_message_names_the_meaning_and_the_detail(store):
    new_worker(store, saying(Outcome(code="quota", detail="Slow down"))).serve(A)

    why = "the model refused because of usage limits: Slow down"
    assert failure(store).message == why


def failing(exc):
    """What a script of an executor does that fails."""

    def fail(*_: object, **__: object) -> Outcome:
        raise exc

    return fail


def with_model(asked):
    """A definition that names a model."""
    return asked.with_(model="claude-opus-5-5"), None


def test_evidence_counts_where_the_call_was_seen(store):
    calls = (ToolCall("Bash", "t1", "pytest -q", ok=True),)

    new_worker(store, saying(Outcome(CLAIMED, calls=calls))).serve(A)

    (item,) = response(store).parsed_output["evidence"]
    assert (item["verified"], item["toolUseId"]) == (True, "t1")


def test_an_executor_may_judge_the_words_itself(store):
    """It knows more about what ran than the words tell."""
    parsed = {"status": "success", "summary": "judged", "evidence": []}

    new_worker(store, saying(Outcome("words", verdict=Judgement(parsed=parsed)))).serve(
        A
    )

    ended = response(store)
    assert ended.success
    assert (ended.parsed_output, ended.raw_output) == (parsed, "words")


def test_error_a_definition_that_cannot_be_used(store):
    """The caller is told; the worker goes on."""
    problem = InvalidRequest("agents/a.yaml: tools: expected a list")

    assert new_worker(store, Scripted(failing(problem))).serve(A)

    ended = failure(store)
    assert (ended.code, ended.alias) == ("bad_request", "AGENT_001")
    why = "the request cannot be served as it is"
    assert ended.message == f"{why}: agents/a.yaml: tools: expected a list"


def test_a_definition_that_cannot_be_recorded_now_fails_nothing(store, monkeypatch):
    """The disk was full for a moment: the request waits again."""

    def full(*_: object, **_how: object) -> None:
        raise StateUnavailable("No space left on device")

    served = new_worker(store, saying(GOOD), define=with_model)
    with monkeypatch.context() as patch:
        patch.setattr(store, "change_held", full)
        with pytest.raises(StateUnavailable):
            served.serve(A)
    assert folders_of(store, "a") == ["requests"]

    assert served.serve(A)
    assert response(store).success


def test_a_waiter_tries_again_to_serve(store, monkeypatch):
    """The lock was busy for a moment: the caller does not leave its request behind."""
    calls = []
    change_held = store.change_held

    def busy_once(*how: Any, **more: Any) -> Any:
        calls.append(how)
        if len(calls) == 1:
            raise StateUnavailable("the lock is busy")
        return change_held(*how, **more)

    monkeypatch.setattr(store, "change_held", busy_once)
    served = new_worker(store, saying(GOOD), define=with_model)

    waiter = Waiter(store, on_stage=ignore)
    assert waiter.one_or_serve(A, served, after_s=0, timeout_s=60).success
    assert len(calls) >= 2


def test_a_claimed_ended_or_unknown_request_is_not_served(store):
    ours = new_worker(store, saying(GOOD))
    (held,) = store.claim(claimant(), 1, take)
    assert not ours.serve(A)
    assert store.find(A).response is None
    assert store.give_back(A, held.claim.host, lambda held: held)
    assert ours.serve(A)

    assert not ours.serve(A)
    assert not ours.serve(RequestId("never"))


def test_a_cancel_from_elsewhere_stops_the_work(store):
    """What the agent still says is evidence; the request stays cancelled."""

    def cancelled(asked, control):
        end = failed(asked, "cancelled", "by a test", now_ms=store.now_ms())
        assert store.publish(end, source="cancel")
        return until_stopped(asked, control)

    assert new_worker(store, Scripted(cancelled)).serve(A)

    assert response(store).status == "cancelled"
    (kept,) = store.evidence(A)
    assert (kept["rawOutput"], kept["source"]) == ("late words", "claude")


def test_switching_off_stops_the_work(store):
    def off(asked, control):
        switch_off(store, None)
        return until_stopped(asked, control)

    new_worker(store, Scripted(off)).serve(A)

    ended = failure(store)
    why = "the agent was stopped before it answered: hostbridge was switched off"
    assert (ended.code, ended.message) == ("agent_stopped", why)


def test_error_the_state_directory_is_removed_meanwhile(store):
    """Nobody could read the answer; the caller is told at once."""

    def removed(asked, control):
        shutil.rmtree(store.place.state)
        return until_stopped(asked, control)

    waiter = Waiter(store, on_stage=ignore)
    served = new_worker(store, Scripted(removed))

    with pytest.raises(StateVanished) as caught:
        waiter.one_or_serve(A, served, after_s=0, timeout_s=36_000)

    assert str(caught.value) == (
        f"request {A} has vanished: {store.place.state} was removed while it was served"
    )


def test_a_failure_ends_nothing_that_somebody_else_has_taken_over(store):
    """This process was taken for dead: the new holder decides, the words are kept."""

    def lose(asked, _control):
        store.give_back(A, asked.claim.host, lambda held: held)
        assert store.claim(claimant(session="other"), 9, take)
        return Outcome("broken", "agent_error")

    new_worker(store, Scripted(lose)).serve(A)

    found = store.find(A)
    assert found.response is None
    (kept,) = store.evidence(A)
    assert kept["reason"] == "agent_error, but somebody else has the request now"


@pytest.mark.parametrize("place", ["executor", "judge"])
def test_a_bug_ends_the_request_and_is_not_hidden(store, monkeypatch, place):
    """Otherwise the claim of a live process would stay, with nobody at work."""
    executor = saying(GOOD)
    if place == "judge":
        monkeypatch.setattr(publisher, "judge", failing(ZeroDivisionError()))
    else:
        executor = Scripted(failing(ZeroDivisionError()))

    with pytest.raises(ZeroDivisionError):
        new_worker(store, executor).serve(A)

    assert failure(store).code == "agent_error"
    assert folders_of(store, "a") == ["done"]


def test_error_too_many_agents_above_it(tmp_path):
    """Also for a request that somebody wrote by hand."""
    store = store_in(tmp_path)
    store.submit(request("a", route="claude", depth=3))

    new_worker(store, saying(GOOD)).serve(A)

    assert failure(store).code == "depth"
