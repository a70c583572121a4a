"""What a failed try leads to."""

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storeworld import START_US, request, this_process

from bridge.protocol import retries
from bridge.protocol.claim import MAX_KEPT, MAX_MESSAGE, Claim, FailedTry
from bridge.protocol.failure_codes import FailureCode
from bridge.protocol.request import Request
from bridge.protocol.response import Response, failed

NOW_MS = START_US // 1000
# One day in which nothing is too late.
DAY_MS = 86_400_000


def held(**fields: Any) -> Request:
    claim = Claim(session="s", host=this_process(), at=NOW_MS)
    return request(**{"request_id": "a", "timeout": DAY_MS, "claim": claim, **fields})


def after(
    asked: Request, code: FailureCode = "agent_error", words: str = "it broke"
) -> Request | Response:
    return retries.after_failure(
        asked, failed(asked, code, words, now_ms=NOW_MS), NOW_MS
    )


def pause_s(asked: Request, code: FailureCode, words: str = "no") -> float:
    again = after(asked, code, words)
    return (again.due_ms - NOW_MS) / 1000


def tried(code: str, count: int) -> tuple[FailedTry, ...]:
    return tuple(FailedTry(at=NOW_MS, code=code) for _ in range(count))


@pytest.mark.parametrize("code", get_args(FailureCode))
def test_every_code_is_tried_again_or_ends_the_request(code):
    """What a person or a limit decided is not undone, nor what comes out the same."""
    passing = {"agent_error", "empty_answer", "host_gone", "model_died", "quota"}

    assert isinstance(after(held(), code), Request) == (code in passing)
    assert set(retries.PASSING) == passing


def test_a_try_is_written_down_and_spent():
    again = after(held(max_attempts=3), words="  it \n broke")

    assert again.attempt == 1
    assert again.failures == (
        FailedTry(at=NOW_MS, code="agent_error", message="it broke", attempt=1),
    )


@pytest.mark.parametrize(
    ("code", "pauses"),
    [("agent_error", retries.TRY_PAUSES_S), ("quota", retries.LIMIT_PAUSES_S)],
)
def test_pauses_grow_up_to_a_bound(code, pauses):
    found = [
        pause_s(held(max_attempts=99, failures=tried(code, n)), code)
        for n in range(len(pauses) + 2)
    ]

    most = (*pauses, pauses[-1], pauses[-1])
    assert all(a <= b <= 1.25 * a for a, b in zip(most, found, strict=True)), found


def test_many_that_fail_at_once_do_not_come_back_at_once():
    pauses = {pause_s(held(request_id=f"r{n}"), "quota") for n in range(100)}

    assert len(pauses) > 90
    assert max(pauses) - min(pauses) > 5


def test_who_has_no_tries_left_ends_with_the_last_failure():
    ended = after(held(attempt=2, max_attempts=3, failures=tried("empty_answer", 2)))

    words = "it broke; tried 2 times before (empty_answer)"
    assert (ended.error.code, ended.error.message) == ("agent_error", words)


def test_a_process_that_is_gone_is_no_reason_to_wait():
    again = after(held(), "host_gone")

    assert (again.attempt, again.due_ms) == (1, None)


def test_a_limit_spends_no_try():
    again = after(held(max_attempts=1, attempt=0), "quota", "limit; resets in 1 hour")

    assert (again.attempt, again.failures[0].attempt) == (0, 1)
    assert 3_601_000 <= again.due_ms - NOW_MS <= 3_631_000


def test_a_processor_refuses_the_same_again():
    died = after(held(), "model_died", "the model's process was ended by SIGILL; it …")

    assert died.error.code == "model_died"


def test_a_limit_ends_a_request_that_does_not_wait_for_it():
    ended = after(held(wait_quota=False), "quota", "limit; resets in 1 hour")

    assert ended.error.message == "limit; resets in 1 hour"


def test_a_limit_undoes_what_sessions_declined_because_of_it():
    again = after(held(declined_by=("s1", "s2")), "quota")

    assert again.declined_by == ()


def launches(words: Callable[[int], str], days: int = 1) -> list[int]:
    """When one is tried that is refused each time, in milliseconds."""
    asked, found = held(timeout=(days + 1) * DAY_MS), [NOW_MS]
    while found[-1] < NOW_MS + days * DAY_MS:
        refused = failed(asked, "quota", words(found[-1]), now_ms=found[-1])
        again = retries.after_failure(asked, refused, found[-1])
        assert isinstance(again, Request), again
        found.append(again.due_ms)
        asked = again
    return found


def test_who_names_a_time_and_refuses_again_is_asked_a_few_dozen_times_a_day():
    found = launches(lambda _now_ms: "limit reached; try again in 1s")

    pauses = [(b - a) / 1000 for a, b in pairwise(found)]
    assert len(found) < 40
    assert pauses[0] < 5
    assert all(b > 1.5 * a for a, b in pairwise(pauses[2:10])), pauses
    assert max(pauses) <= 1.01 * retries.LONGEST_LEAST_S


def test_a_time_of_day_at_which_it_is_refused_again_is_not_tomorrow():
    """The words stay the same, and the limit is over a few minutes late."""
    reset = datetime.fromtimestamp(NOW_MS // 60_000 * 60 + 120)  # noqa: DTZ006 - people's
    reset_ms = int(reset.timestamp() * 1000)

    found = launches(lambda _now_ms: f"session limit · resets {reset:%I:%M%p}")

    soon = [at for at in found if reset_ms < at < reset_ms + 600_000]
    assert len(soon) >= 4
    assert soon[0] < reset_ms + 32_000


def test_a_refusal_just_after_the_reset_does_not_end_a_request_of_a_day():
    reset = datetime.fromtimestamp(NOW_MS // 60_000 * 60)  # noqa: DTZ006 - people's

    again = after(held(), "quota", f"session limit · resets {reset:%I:%M%p}")

    assert again.due_ms - NOW_MS < 60_000


def test_a_pause_that_ends_after_the_deadline_is_not_begun():
    ended = after(held(timeout=60_000), "quota", "limit; resets in 1 hour")

    assert ended.error.code == "quota"
    assert "not tried again: the next try would begin at" in ended.error.message
    assert ended.error.message.endswith("after the deadline")


LASTING = [
    ("agent_error", "StopFailure: invalid_request: prompt is too long"),
    ("agent_error", "API Error: 401 authentication_error"),
    ("agent_error", "HTTP 403: not for you"),
    ("quota", "Your credit balance is too low to access the API"),
    ("quota", "You've hit your monthly spend limit"),
]


@pytest.mark.parametrize(("code", "words"), LASTING)
def test_what_the_words_call_lasting_is_not_tried_again(code, words):
    assert isinstance(after(held(), code, words), Response)


def test_an_unpaid_limit_that_names_its_end_is_waited_for():
    words = "You're out of usage credits · resets in 2 hours"

    assert isinstance(after(held(), "quota", words), Request)


def test_what_is_kept_is_bounded():
    asked = held(failures=tried("quota", MAX_KEPT))

    again = after(asked, "quota", "x" * 10_000)

    assert len(again.failures) == MAX_KEPT
    assert len(again.failures[-1].message) == MAX_MESSAGE


def test_a_pause_holds_although_the_clock_was_set():
    """By the clock as it is now, as the deadline does."""
    again = after(held(_set_ms=0).with_(_set_ms=3_600_000), "agent_error")

    assert again.not_before == again.due_ms - 3_600_000
    assert 1000 <= again.due_ms - NOW_MS <= 1250


@given(
    st.integers(0, 20),
    st.integers(1, 20),
    st.integers(1, 2 * DAY_MS),
    st.sampled_from(get_args(FailureCode)),
    st.sampled_from(["", "resets in 5 minutes", "retry-after: 1", "resets 3pm"]),
)
def test_a_pause_ends_before_the_deadline_and_tries_are_never_exceeded(
    attempt, most, timeout, code, words
):
    asked = held(attempt=attempt, max_attempts=most, timeout=timeout)

    again = after(asked, code, words)

    if isinstance(again, Request):
        assert NOW_MS <= (again.due_ms or NOW_MS) < again.deadline_ms
        assert attempt <= again.attempt <= attempt + 1
        assert again.attempt < most or code == "quota"


def waiting(code: str, **fields: Any) -> Request:
    asked = held(claim=None, failures=tried(code, 1), **fields)
    return asked.from_(NOW_MS + 60_000)


def test_words_for_a_pause():
    until = f"{datetime.fromtimestamp(NOW_MS / 1000 + 60):%H:%M:%S}"  # noqa: DTZ006

    limit, error = waiting("quota"), waiting("agent_error", attempt=1, max_attempts=3)

    pause = f"pause before try 2 of 3, until {until} (agent_error)"
    late = f"waiting for the usage limit to reset at {until}"
    assert retries.pause_words(limit, NOW_MS) == f"waiting until {until} (quota)"
    assert retries.pause_words(error, NOW_MS) == pause
    assert retries.pause_words(limit, NOW_MS + 60_000) == ""
    assert retries.late_words(limit, NOW_MS) == late
    assert retries.late_words(limit, NOW_MS + 60_000) == "tried once before (quota)"


def test_a_time_that_is_no_time_is_a_question_mark():
    asked = held(claim=None, not_before=2**53 - 1)

    assert retries.pause_words(asked, NOW_MS) == "pause before try 1 of 2, until ?"
