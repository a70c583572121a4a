"""A request between two tries: it waits for its time, and nothing of it is lost."""

from typing import Any

from storeworld import (
    START_US,
    Store,
    answer,
    claim_all,
    claimant,
    dead_process,
    folders_of,
    path_of,
    request,
    take,
)

from bridge.protocol.ids import new_request_id
from bridge.protocol.request import Request
from bridge.protocol.response import failed
from bridge.protocol.status import Status
from bridge.store.claim_next import FEW
from bridge.store.clock import uptime
from bridge.store.lock import LockBusy

NOW_MS = START_US // 1000
LIMIT = "limit reached; resets in 1 hour"


def fail(store, asked, code: str = "agent_error", **how: Any) -> Request | None:
    """End the try that holds a request."""
    words = how.pop("message", "it broke")
    response = failed(asked, code, words, now_ms=store.now_ms(), **how)
    return store.end_try(
        response, is_mine=lambda claim: claim == asked.claim, source="test"
    )


def paused(store: Store, code: str = "agent_error", **fields: Any) -> Request:
    """A request whose first try has failed."""
    store.submit(request("a", **fields))
    (mine,) = claim_all(store)
    again = fail(store, mine, code, message=LIMIT)
    assert again is not None
    return again


def code_of(store: Store) -> str | None:
    found = store.find("a")
    return found.response.error.code if found.response.error else None


def test_nobody_takes_it_before_its_time(store, clock):
    again = paused(store)

    assert folders_of(store, "a") == ["requests"]
    assert claim_all(store) == []
    assert store.claim_one("a", claimant()) is None
    assert store.claim(claimant(), 1, take, only="a") == []

    clock.go_on((again.due_ms - NOW_MS) / 1000)

    (mine,) = claim_all(store)
    assert (mine.attempt, mine.not_before, mine.due_ms) == (1, None, None)


def test_the_journal_says_why_and_until_when(store):
    again = paused(store)

    (line,) = [e for e in store.history("a") if e["event"] == "waiting again"]
    known = {"at": NOW_MS, "event": "waiting again", "requestId": "a"}
    why = {"attempt": 1, "code": "agent_error", "notBefore": again.due_ms}
    assert line == known | why


def test_the_last_try_ends_it(store, clock):
    paused(store, max_attempts=2)
    clock.go_on(5)
    (mine,) = claim_all(store)

    assert fail(store, mine, "empty_answer") is None

    assert code_of(store) == "empty_answer"


def test_what_cannot_pass_ends_it_at_once(store, mine):
    assert fail(store, mine, "schema_mismatch") is None

    assert code_of(store) == "schema_mismatch"


def test_who_does_not_hold_it_any_more_ends_no_try_of_another(store, mine, clock):
    store.give_back("a", mine.claim.host)
    clock.go_on(1)
    (other,) = claim_all(store)
    assert other.claim != mine.claim

    fail(store, mine)

    assert store.claimed() == [other]


def test_a_valid_answer_of_the_try_before_counts_while_the_next_one_waits(store):
    again = paused(store)

    assert store.publish(answer(again), source="late")

    assert folders_of(store, "a") == ["done"]
    assert store.find("a").status is Status.COMPLETED


def test_a_valid_answer_of_the_try_before_wins_against_the_next_one(store, clock):
    again = paused(store)
    clock.go_on(5)
    (mine,) = claim_all(store)

    assert store.publish(answer(again, "first"), source="late")
    assert fail(store, mine) is None
    assert not store.publish(answer(mine, "second"), source="test")

    assert store.find("a").response.parsed_output["summary"] == "first"


def test_its_deadline_ends_it_although_nobody_came(store, clock):
    paused(store, timeout=30_000)
    clock.go_on(31)

    assert store.sweep(everything=True) == 1

    assert store.find("a").response.error.message == (
        "no answer within 30 s: nobody had taken it; tried once before (agent_error)"
    )


def test_a_hand_written_pause_beyond_the_deadline_does_not_outlast_it(store, clock):
    store.submit(request("a", timeout=1000, not_before=NOW_MS + 86_400_000))
    clock.go_on(2)

    assert claim_all(store) == []
    assert code_of(store) == "timeout"


def test_a_set_clock_changes_no_pause(store, clock):
    again = paused(store, uptime=None)
    store.publish(answer(again), source="test")
    store.submit(request("b", uptime=uptime(clock), created_at=NOW_MS))
    (mine,) = claim_all(store)
    clock.set_wall(86_400)
    assert fail(store, mine) is not None
    clock.set_wall(-86_400)

    assert claim_all(store) == []
    clock.go_on(2)
    assert [one.request_id for one in claim_all(store)] == ["b"]


def test_a_dead_holder_is_noted_and_leaves_no_pause(store):
    store.submit(request("a"))
    store.claim(claimant(dead_process()), 1, take)

    store.sweep()

    (again,) = claim_all(store)
    assert [(each.code, each.attempt) for each in again.failures] == [("host_gone", 1)]


def test_its_key_finds_it(store):
    again = paused(store, dedup_key="k")

    assert store.submit(again.with_(request_id="b")).request_id == "a"


def test_a_busy_lock_loses_no_failure(store, mine, monkeypatch):
    """It ends the request then: the link alone decides."""
    from bridge.store import lock, state

    def busy(*_, **__):
        raise LockBusy("busy")

    monkeypatch.setattr(state, "locked", busy)
    fail(store, mine)
    monkeypatch.setattr(state, "locked", lock.locked)

    assert code_of(store) == "agent_error"


def pause_many(store: Store, count: int, due_ms: int) -> list[str]:
    ids = [new_request_id(START_US + number) for number in range(count)]
    folder = path_of(store, "requests")
    folder.mkdir(parents=True, exist_ok=True)
    for one in ids:
        asked = request(one, not_before=due_ms)
        (folder / f"{one}.json").write_bytes(asked.to_json())
    return list(ids)


def test_many_that_wait_for_their_time_keep_nothing_from_another(store, clock):
    """They are looked at once, and then passed over until they are due."""
    ids = pause_many(store, 3 * 512, NOW_MS + 3_600_000)
    store.submit(request(new_request_id(START_US + 10_000), prompt="mine?"))

    assert len(claim_all(store)) == 1

    passed = path_of(store, "sessions") / "session-1.passed"
    assert [line.split()[1] for line in passed.read_text().splitlines()] == (
        ["later"] * len(ids)
    )
    clock.go_on(3_601)
    taken = store.claim(claimant(), 4, take)
    assert [one.request_id for one in taken] == ids[:3]
    assert len(ids) > FEW


def test_a_pause_is_found_out_again_if_its_line_is_wrong(store, clock):
    (one, *_) = pause_many(store, FEW + 1, NOW_MS + 1000)
    folder = path_of(store, "sessions")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "session-1.passed").write_text(f"{one} later x\n{one} later 99999999999")

    clock.go_on(2)

    assert one in [each.request_id for each in claim_all(store)]


def test_a_claim_keeps_the_failures_of_the_tries_before(store, clock):
    paused(store, "quota")
    clock.go_on(3_700)

    (mine,) = claim_all(store)

    assert [(each.code, each.message) for each in mine.failures] == [("quota", LIMIT)]
    assert mine.attempt == 0
