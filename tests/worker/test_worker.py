"""Serving a request in this process: what is left on disk by every way it can end."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

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
from storeworld import (
    CountingStore,
    FakeClock,
    claimant,
    dead_process,
    place_in,
    request,
    rooms_of,
    store_in,
    take,
)

from bridge.api.wait import Waiter
from bridge.errors import InvalidRequest, StateUnavailable, StateVanished
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import ToolCall, Verdict
from bridge.protocol.outcome import Outcome
from bridge.protocol.response import failed
from bridge.protocol.status import Stage
from bridge.store import Claimant
from bridge.store.host_process import identify
from bridge.store.store import Store
from bridge.store.switch import switch_off
from bridge.worker import worker
from bridge.worker.heartbeat import Watch

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.protocol.request import Request


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = store_in(tmp_path)
    made.submit(request("a", route="claude"))
    return made


def test_a_valid_answer_is_published_as_on_the_host_route(store: Store):
    outcome = Outcome(GOOD, model="claude-opus-5-5", degraded=True)

    assert new_worker(store, saying(outcome)).serve(A)

    ended = response(store)
    assert (ended.success, ended.route, ended.degraded) == (True, "claude", True)
    assert (ended.model, ended.raw_output) == ("claude-opus-5-5", GOOD)
    assert ended.parsed_output["summary"] == "fine"
    assert rooms_of(store, "a") == ["done"]


def test_while_it_works_the_record_says_who(store: Store):
    seen = []

    def look(asked: Request, **_: Any) -> Outcome:
        seen.append((asked, store.find(A)))
        return Outcome(GOOD)

    new_worker(store, Scripted(look)).serve(A)

    ((asked, found),) = seen
    assert found.request == asked
    assert asked.claim.route == "claude"
    assert asked.claim.session == f"claude-{os.getpid()}"
    assert asked.claim.host == identify(os.getpid())
    assert asked.stage is Stage.RUNNING


ENDS = {
    "prose": (Outcome("All is well."), "no_json", "failed"),
    "nothing": (Outcome(""), "empty_answer", "failed"),
    "not by the schema": (Outcome('{"status": "great"}'), "schema_mismatch", "failed"),
    "the agent failed": (
        Outcome('{"status": "failed", "summary": "no"}'),
        "agent_failed",
        "completed",
    ),
    "no answer": (Outcome("half", "agent_error", "it broke"), "agent_error", "failed"),
    "late": (Outcome("half", "timeout"), "timeout", "timeout"),
    "late, locally": (Outcome("half", "AGENT_005"), "AGENT_005", "timeout"),
}


@pytest.mark.parametrize("name", ENDS)
def test_error_code_of_an_end(store: Store, name: str):
    outcome, code, status = ENDS[name]

    new_worker(store, saying(outcome)).serve(A)

    ended = response(store)
    assert ended.error is not None
    assert (ended.error.code, ended.status, ended.success) == (code, status, False)
    assert (ended.raw_output, ended.route) == (outcome.words, "claude")


def test_error_message_names_the_meaning_and_the_detail(store: Store):
    new_worker(store, saying(Outcome(code="quota", detail="Slow down"))).serve(A)

    assert failure(store).message == (
        "the model refused because of usage limits: Slow down"
    )


CLAIMED = json.dumps(
    {
        "status": "success",
        "summary": "ran",
        "evidence": [{"type": "t", "content": "c", "command": "pytest -q"}],
    }
)


def test_evidence_counts_where_the_call_was_seen(store: Store):
    calls = (ToolCall("Bash", "t1", "pytest -q", ok=True),)

    new_worker(store, saying(Outcome(CLAIMED, calls=calls))).serve(A)

    (item,) = response(store).parsed_output["evidence"]
    assert (item["verified"], item["toolUseId"]) == (True, "t1")


def test_error_evidence_of_a_call_that_nobody_made(store: Store):
    new_worker(store, saying(Outcome(CLAIMED, calls=()))).serve(A)

    assert failure(store).code == "unverified"


def test_an_answerer_may_weigh_the_words_itself(store: Store):
    """It knows more of what ran than the words tell."""
    parsed = {"status": "success", "summary": "weighed", "evidence": []}

    new_worker(store, saying(Outcome("words", verdict=Verdict(parsed=parsed)))).serve(A)

    ended = response(store)
    assert ended.success
    assert (ended.parsed_output, ended.raw_output) == (parsed, "words")


def test_error_an_answerer_may_refuse_the_words(store: Store):
    refused = Verdict(code="AGENT_003", complaint="no")

    new_worker(store, saying(Outcome(GOOD, verdict=refused))).serve(A)

    ended = response(store)
    assert ended.error is not None
    assert (ended.error.code, ended.parsed_output) == ("AGENT_003", None)


def test_error_a_definition_that_cannot_be_used(store: Store):
    """The asker is told; whoever serves goes on."""

    def refuse(*_: Any, **__: Any) -> Outcome:
        raise InvalidRequest("agents/a.yaml: tools: expected a list")

    assert new_worker(store, Scripted(refuse)).serve(A)

    ended = failure(store)
    assert (ended.code, ended.message) == (
        "AGENT_001",
        (
            "the definition, or the schema of the answer, cannot be used: "
            "agents/a.yaml: tools: expected a list"
        ),
    )


def test_error_a_definition_that_cannot_be_noted_now_is_no_bad_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    """A disk was full for a moment: the request waits again, and fails of nothing."""

    def full(*_: object, **_how: object) -> None:
        raise StateUnavailable("No space left on device")

    served = new_worker(
        store,
        saying(GOOD),
        define=lambda asked: (asked.with_(model="claude-opus-5-5"), None),
    )
    with monkeypatch.context() as patch:
        patch.setattr(store, "change_held", full)
        with pytest.raises(StateUnavailable):
            served.serve(A)
    assert rooms_of(store, "a") == ["requests"]

    assert served.serve(A)
    assert response(store).success


def test_who_waits_for_it_tries_again(store: Store, monkeypatch: pytest.MonkeyPatch):
    """A lock was busy for a moment: the request is not left behind by its asker."""
    calls = []
    change_held = store.change_held

    def busy_once(*how: Any, **more: Any) -> Any:
        calls.append(how)
        if len(calls) == 1:
            raise StateUnavailable("the lock is busy")
        return change_held(*how, **more)

    monkeypatch.setattr(store, "change_held", busy_once)
    waiter = Waiter(store, on_stage=lambda _: None)
    served = new_worker(
        store,
        saying(GOOD),
        define=lambda asked: (asked.with_(model="claude-opus-5-5"), None),
    )

    assert waiter.one_or_serve(A, served, after_s=0, timeout_s=60).success
    assert len(calls) >= 2


def test_what_somebody_has_is_not_served(store: Store):
    store.claim(claimant(), 1, take)

    assert not new_worker(store, saying(GOOD)).serve(A)

    found = store.find(A)
    assert found is not None
    assert found.response is None


def test_what_has_ended_or_never_was_is_not_served(store: Store):
    ours = new_worker(store, saying(GOOD))
    assert ours.serve(A)

    assert not ours.serve(A)
    assert not ours.serve(RequestId("never"))


def test_a_cancel_from_elsewhere_stops_the_work(store: Store):
    """What the agent still said is evidence; the cancel is the end."""

    def cancelled(asked: Request, **how: Any) -> Outcome:
        end = failed(asked, "cancelled", "by a test", now_ms=store.now_ms())
        assert store.publish(end, source="cancel")
        return until_stopped(asked, **how)

    assert new_worker(store, Scripted(cancelled)).serve(A)

    assert response(store).status == "cancelled"
    (kept,) = store.evidence(A)
    assert (kept["rawOutput"], kept["source"]) == ("late words", "claude")


def test_switching_off_stops_the_work(store: Store):
    def off(asked: Request, **how: Any) -> Outcome:
        switch_off(store, None)
        return until_stopped(asked, **how)

    new_worker(store, Scripted(off)).serve(A)

    ended = failure(store)
    assert (ended.code, ended.message) == (
        "agent_stopped",
        "the agent was stopped before it answered: hostbridge was switched off",
    )


def test_what_is_gone_with_its_directory_is_worked_on_no_longer(store: Store):
    """Nobody can read the answer; the asker is told at once."""

    def removed(asked: Request, **how: Any) -> Outcome:
        shutil.rmtree(store.place.state)
        return until_stopped(asked, **how)

    waiter = Waiter(store, on_stage=lambda _: None)

    with pytest.raises(StateVanished) as caught:
        waiter.one_or_serve(
            A, new_worker(store, Scripted(removed)), after_s=0, timeout_s=36_000
        )

    assert str(caught.value) == (
        f"request {A} has vanished: {store.place.state} was removed while it was served"
    )


def test_a_failure_is_not_ours_to_report_when_somebody_else_has_the_request(
    store: Store,
):
    """We were thought dead; whoever took over decides, and our words are kept."""

    def lose(asked: Request, **_: Any) -> Outcome:
        store.give_back(A, asked.claim.host, lambda held: held)
        assert store.claim(claimant(session="other"), 9, take)
        return Outcome("broken", "agent_error")

    new_worker(store, Scripted(lose)).serve(A)

    found = store.find(A)
    assert found is not None
    assert found.response is None
    (kept,) = store.evidence(A)
    assert kept["reason"] == "agent_error, but somebody else has the request now"


def test_a_bug_ends_the_request_and_is_not_hidden(store: Store):
    def broken(*_: Any, **__: Any) -> Outcome:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        new_worker(store, Scripted(broken)).serve(A)

    assert failure(store).code == "agent_error"


def test_a_bug_in_the_check_of_an_answer_ends_the_request(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    """Once the claim stayed, of a process that lives, and nobody was at work."""

    def broken(*_: Any, **__: Any) -> Verdict:
        raise ZeroDivisionError

    monkeypatch.setattr(worker, "judge", broken)
    with pytest.raises(ZeroDivisionError):
        new_worker(store, saying(GOOD)).serve(A)

    assert failure(store).code == "agent_error"
    assert rooms_of(store, "a") == ["done"]


def test_too_many_agents_above_it(tmp_path: Path):
    """A request that was dropped by hand says so, too."""
    store = store_in(tmp_path)
    store.submit(request("a", route="claude", depth=3))

    new_worker(store, saying(GOOD)).serve(A)

    assert failure(store).code == "depth"


def test_the_deadline_is_that_of_the_record(tmp_path: Path):
    store = store_in(tmp_path, clock=FakeClock())
    now_ms = store.now_ms()
    store.submit(request("a", route="claude", created_at=now_ms, timeout=60_000))
    seen = []

    def look(_asked: Request, *, deadline_s: float, **_: Any) -> Outcome:
        seen.append(deadline_s - store.clock.monotonic_s())
        return Outcome(GOOD)

    new_worker(store, Scripted(look)).serve(A)

    assert seen == [60]


def test_a_claim_of_a_process_that_is_gone_is_taken_back(store: Store):
    """The asker was killed: the request waits again, then fails by name."""
    gone = Claimant("claude-1", dead_process(), "claude")
    for _ in range(2):
        assert store.claim_one(A, gone)
        assert store.sweep() == 1

    ended = failure(store)
    assert (ended.code, ended.message) == (
        "host_gone",
        "the process that served the request is gone, and 2 attempts were used up",
    )


def test_a_request_behind_a_crowd_can_be_claimed(tmp_path: Path):
    """A look at the queue ends early; one that is named is found."""
    store = store_in(tmp_path)
    for number in range(600):
        store.submit(request(f"b{number}", priority="high"))
    store.submit(request("a", route="claude", priority="low"))

    assert store.claim_one(A, Claimant("s", claimant().host, "claude"))


def test_to_be_asked_whether_to_stop_costs_next_to_nothing(tmp_path: Path):
    """A client is waited for many minutes, and asked about several times a second."""
    clock = FakeClock()
    store = CountingStore(place_in(tmp_path), clock=clock, lock_wait_s=5)
    store.submit(request("a", route="claude"))
    held = store.claim_one(A, claimant())
    assert held is not None
    watch = Watch(store, held, lambda _: None)
    clock.go_on(1)
    assert not watch()
    before = store.opened

    for _ in range(100):
        clock.go_on(0.25)
        assert not watch()

    assert store.opened == before
    assert store.publish(failed(held, "cancelled", "no", now_ms=1), source="cancel")
    clock.go_on(0.25)
    assert watch()
    assert watch.has_ended


def test_a_switch_is_seen_while_it_works(tmp_path: Path):
    clock = FakeClock()
    store = Store(place_in(tmp_path), clock=clock, lock_wait_s=5)
    store.submit(request("a", route="claude"))
    held = store.claim_one(A, claimant())
    assert held is not None
    watch = Watch(store, held, lambda _: None)
    clock.go_on(1)
    assert not watch()

    switch_off(store)

    clock.go_on(1)
    assert watch()
    assert (watch.is_off, watch.has_ended) == (True, False)
