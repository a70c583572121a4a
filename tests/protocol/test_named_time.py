"""The time that words name as the end of a limit."""

import os
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.protocol.named_time import JUST_PASSED_S, LONGEST_S, named_time

# A Wednesday.
NOW = datetime(2026, 10, 7, 12, 0, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)


@pytest.fixture(autouse=True, scope="module")
def zone():
    """The machine's own: two hours before UTC at this time of the year."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


NAMED = [
    # As the client prints it, in versions from 1.0.3 on
    ("Claude AI usage limit reached|1791400000", 1_791_400_000_000),
    ("Claude AI usage limit reached|1791400000123", 1_791_400_000_123),
    ("Claude usage limit reached. Your limit will reset at 1pm (Etc/GMT+5).",
        at("2026-10-07T18:00Z")),
    ("5-hour limit reached ∙ resets 3pm", at("2026-10-07T15:00+02:00")),
    ("5-hour limit reached ∙ resets 12:30 AM", at("2026-10-08T00:30+02:00")),
    ("You've hit your limit · resets 12am", at("2026-10-08T00:00+02:00")),
    ("You've hit your limit · resets 7pm (UTC)", at("2026-10-07T19:00Z")),
    ("You've hit your session limit · resets 8:30pm (Asia/Tokyo)",
        at("2026-10-08T20:30+09:00")),
    ("Weekly limit reached ∙ resets Oct 9, 10am", at("2026-10-09T10:00+02:00")),
    ("Weekly limit reached ∙ resets Oct 9 at 10am (America/New_York)",
        at("2026-10-09T10:00-04:00")),
    ("resets Mon 12:00 AM", at("2026-10-12T00:00+02:00")),
    ("resets Wednesday 11:00", at("2026-10-14T11:00+02:00")),
    ("resets tomorrow at 9:15am", at("2026-10-08T09:15+02:00")),
    ("limit reached (resets 8m)", NOW_MS + 480_000),
    # As APIs say it
    ("Please try again in 6m0s.", NOW_MS + 360_000),
    ("Please try again in 1.5s.", NOW_MS + 1_500),
    ("Rate limit reached. Please try again in 20ms.", NOW_MS + 20),
    ("try again in 20 minutes", NOW_MS + 1_200_000),
    ("Quota resets in 2 hours and 5 minutes.", NOW_MS + 7_500_000),
    ("HTTP 429: slow down (retry-after: 30)", NOW_MS + 30_000),
    ("Retry-After: Thu, 08 Oct 2026 07:28:00 GMT", at("2026-10-08T07:28Z")),
    ("the limit resets at 2026-10-08T01:02:03Z", at("2026-10-08T01:02:03Z")),
    ("resets at 2026-10-08 01:02:03+0530", at("2026-10-08T01:02:03+05:30")),
    ("Quota exceeded until 14:30", at("2026-10-07T14:30+02:00")),
    ("anthropic-ratelimit-unified-reset: 1791400000", 1_791_400_000_000),
]  # fmt: skip
NOT_NAMED = [
    "",
    "This request would exceed your account's rate limit. Please try again later.",
    "Claude AI usage limit reached|1749924000",
    "resets in 8 days",
    "resets Dec 24 at 10am",
    "resets 2026-10-07T11:59:00Z",
    "resets 25:99",
    "resets Feb 31 at 10am",
    "resets 13pm",
    "resets at 15",
    "resets 3pm (Nowhere/Land)",
    "it failed at 3pm",
    "resets at 99999999999999999999",
    "retry-after: 0",
]


@pytest.mark.parametrize(("words", "named_ms"), NAMED, ids=lambda each: str(each)[:40])
def test_the_time_that_the_words_name(words, named_ms):
    assert named_time(words, NOW_MS) == named_ms


@pytest.mark.parametrize("words", NOT_NAMED)
def test_no_time_that_has_passed_or_is_far_away_or_no_time_at_all(words):
    assert named_time(words, NOW_MS) is None


def test_a_time_after_summer_time_has_ended_has_the_offset_of_its_day():
    """The clocks are set back in the night between."""
    now_ms = at("2026-10-24T22:00+02:00")

    assert named_time("resets 9am (Europe/Berlin)", now_ms) == at(
        "2026-10-25T09:00+01:00"
    )


PARTS = (
    "resets at in on until 3 14 30 59 99 am pm Mon Oct Feb 31 : | , · ( ) UTC "
    "Europe/Berlin 1791400000 2026-10-08T01:02:03 Z +05:30 h m s ms days"
)
words = st.text(max_size=60) | st.lists(
    st.sampled_from(PARTS.split()), max_size=12
).map(" ".join)
moments = st.integers(0, 4_000_000_000_000)


@given(words, moments)
def test_whatever_is_said_the_time_is_within_a_week(text, now_ms):
    found = named_time(f"resets {text}", now_ms)

    assert found is None or 0 < found - now_ms <= LONGEST_S * 1000 + 1


ZONES = st.sampled_from(["UTC", "Asia/Kolkata"])


@given(st.integers(1, 60 * 24 - JUST_PASSED_S // 60), ZONES, moments)
def test_a_time_of_day_is_the_next_such_moment(minutes, zone, now_ms):
    now = datetime.fromtimestamp(now_ms // 60_000 * 60, ZoneInfo(zone))
    wanted = now + timedelta(minutes=minutes)

    found = named_time(f"resets {wanted:%I:%M%p} ({zone})", int(now.timestamp() * 1000))

    assert found == int(wanted.timestamp() * 1000)


@given(st.integers(0, JUST_PASSED_S - 1), ZONES, st.sampled_from(("", "day")), moments)
def test_a_time_of_day_that_has_just_passed_is_now(passed_s, zone, day, now_ms):
    """Not tomorrow: also across midnight, and with a day of the week."""
    named = datetime.fromtimestamp(now_ms // 60_000 * 60, ZoneInfo(zone))
    just_after_ms = int(named.timestamp() + passed_s) * 1000
    words = f"{named:%a %I:%M%p}" if day else f"{named:%I:%M%p}"

    found = named_time(f"resets {words} ({zone})", just_after_ms)

    assert found == just_after_ms + 1


@given(st.integers(1, 7 * 24 * 3600), moments)
def test_a_length_is_counted_from_now(seconds, now_ms):
    assert named_time(f"retry-after: {seconds}", now_ms) == now_ms + 1000 * seconds
