"""A try that failed on a route of ours: who goes on when its time comes."""

from typing import Any

import pytest
from aheadclock import AheadClock
from servingworld import GOOD as WORDS
from servingworld import A, Scripted, failure, new_worker, open_session, response
from storeworld import folders_of, request, store_in, this_process

from bridge.api.wait import Waiter, cancel
from bridge.errors import WaitTimeout
from bridge.protocol.outcome import Outcome, Progress
from bridge.protocol.status import Stage, ignore
from bridge.protocol.usage import Usage
from bridge.store import Claimant
from bridge.store.sessions import find_session
from bridge.store.switch import switch_off
from bridge.worker.serve_loop import serve

pytestmark = pytest.mark.slow

GOOD = Outcome(WORDS)
LIMIT = Outcome(code="quota", detail="HTTP 429: slow down (retry-after: 1)")
BROKEN = Outcome("half", "agent_error", "it broke")


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


def submit(store, name="a", **fields):
    usual = {"route": "claude", "created_at": store.now_ms(), "timeout": 60_000}
    store.submit(request(name, **(usual | fields)))


def waited_for(store, served):
    """The end that who asks and serves it gets."""
    waiter = Waiter(store, on_stage=ignore)
    return waiter.one_or_serve(A, served, after_s=0, timeout_s=60)


class Turns:
    """An executor with one outcome for each try."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.left = [*outcomes]
        self.executor = Scripted(lambda *_: self.left.pop(0))


def test_who_asked_serves_it_again_and_gets_the_answer(store):
    submit(store)
    turns = Turns(BROKEN, GOOD)
    served = new_worker(store, turns.executor)

    ended = waited_for(store, served)

    assert ended.success
    assert turns.left == []
    done = store.find(A).request
    assert [(each.code, each.attempt) for each in done.failures] == [("agent_error", 1)]
    (kept,) = store.evidence(A)
    assert (kept["rawOutput"], kept["source"]) == ("half", "claude")


def test_who_asked_is_told_what_is_waited_for(store):
    submit(store, timeout=3_600_000)
    limit = Outcome(code="quota", detail="resets in 10 minutes")
    served = new_worker(store, Turns(limit).executor)
    stages: list[Stage] = []
    news: list[Progress] = []
    store.clock = clock = AheadClock()

    def tell(progress: Progress) -> None:
        """Once it is told, the asker's time passes, and not the request's."""
        news.append(progress)
        clock.ahead_s = 300.0 if progress.waits else 0.0

    waiter = Waiter(store, on_stage=stages.append, on_progress=tell)

    with pytest.raises(WaitTimeout) as caught:
        waiter.one_or_serve(A, served, after_s=0, timeout_s=120)

    assert stages[-1] is Stage.PAUSED
    assert news[-1].waits.startswith("waiting until ")
    assert news[-1].waits.endswith(" (quota)")
    assert caught.value.stage == "paused"
    assert "waiting for the usage limit to reset at " in caught.value.what
    assert folders_of(store, "a") == ["requests"]


def test_a_limit_is_waited_for_as_often_as_it_is_met(store):
    submit(store, max_attempts=1)
    turns = Turns(LIMIT, LIMIT, GOOD)

    assert new_worker(store, turns.executor).see_through(A)

    assert response(store).success
    assert store.find(A).request.attempt == 0


def test_the_last_try_names_those_before(store):
    submit(store, max_attempts=2)

    new_worker(store, Turns(BROKEN, Outcome("")).executor).see_through(A)

    assert failure(store).code == "empty_answer"
    assert failure(store).message.endswith("; tried once before (agent_error)")


def test_between_two_tries_who_serves_can_leave(store):
    submit(store)
    turns = Turns(BROKEN, GOOD)

    new_worker(store, turns.executor).see_through(A, is_left=lambda: True)

    assert len(turns.left) == 1
    assert folders_of(store, "a") == ["requests"]


def test_a_cancel_between_two_tries_ends_it(store):
    submit(store)
    turns = Turns(BROKEN, GOOD)
    served = new_worker(store, turns.executor)

    def stop(stage: Stage) -> None:
        if stage is Stage.PAUSED:
            assert cancel(store, A)

    served.on_stage = stop
    served.see_through(A)

    assert failure(store).code == "cancelled"
    assert len(turns.left) == 1


OFF = "the agent was stopped before it answered: hostbridge was switched off"


def test_nothing_is_tried_again_once_it_is_switched_off(store):
    """The request ends as one that runs does, and at once: not when its pause does."""
    submit(store)
    turns = Turns(Outcome(code="quota", detail="resets in 50 seconds"), GOOD)
    served = new_worker(store, turns.executor)
    served.on_stage = lambda stage: stage is Stage.PAUSED and switch_off(store)

    served.see_through(A)

    assert (failure(store).code, failure(store).message) == ("agent_stopped", OFF)
    assert len(turns.left) == 1
    assert response(store).completed_at - store.find(A).request.created_at < 50_000


def test_who_asked_starts_nothing_more_once_it_is_switched_off(store):
    begun: list[str] = []

    def fail(asked: Any, _control: Any) -> Outcome:
        begun.append(asked.request_id)
        switch_off(store)
        return BROKEN

    submit(store)
    served = new_worker(store, Scripted(fail))

    ended = waited_for(store, served)

    assert (ended.error.code, ended.error.message) == ("agent_stopped", OFF)
    assert begun == ["a"]


def test_a_first_try_is_not_begun_while_it_is_switched_off(store):
    submit(store)
    turns = Turns(GOOD)
    switch_off(store)

    new_worker(store, turns.executor).see_through(A)

    assert failure(store).code == "agent_stopped"
    assert len(turns.left) == 1


def test_what_somebody_else_holds_is_not_ended_by_a_worker_that_is_off(store):
    submit(store)
    store.claim_one(A, Claimant("other", this_process(), "claude"))
    switch_off(store)

    assert not new_worker(store, Turns().executor).serve(A)
    assert folders_of(store, "a") == ["processing"]


def test_a_server_goes_on_with_others_and_comes_back_in_time(store):
    submit(store)
    submit(store, "b", created_at=store.now_ms() + 1)
    served: list[str] = []
    broken = [BROKEN]

    def act(asked: Any, _control: Any) -> Outcome:
        served.append(asked.request_id)
        return broken.pop() if asked.request_id == "a" and broken else GOOD

    worker = new_worker(store, Scripted(act))
    ends = serve(
        store,
        {"claude": worker},
        is_off=lambda: False,
        on_bug=lambda *_: None,
        on_trouble=ignore,
    )

    assert [next(ends).request_id, next(ends).request_id] == ["b", "a"]
    assert served == ["a", "b", "a"]


def test_each_try_counts_in_the_budget_of_its_session(store):
    """Each is an agent of its own, and took tokens of its own."""
    mine = open_session(store)
    submit(store)
    turns = Turns(
        Outcome("", "agent_error", "it broke", told_usage=Usage(output_tokens=5)),
        Outcome(WORDS, told_usage=Usage(output_tokens=7)),
    )

    new_worker(store, turns.executor, session=mine).see_through(A)

    known = find_session(store, mine.session_id, mine.host)
    taken = {call: each.tokens for call, each in known.spending.charges.items()}
    assert taken == {"a": 5, "a.1": 7}
