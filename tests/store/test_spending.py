"""What a session has used: counted once each, and never less than it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spent import UP

from bridge.protocol.record import LATEST_MS
from bridge.protocol.request import Uptime
from bridge.store.spending import HOUR_MS, Spending

WHATS = ("agents", "tokens")
MINUTE_MS = 60_000
# What happens: which call, what of it, and how much later.
EVENTS = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.sampled_from(("started", "ended", "told")),
        st.integers(0, 2 * HOUR_MS),
        st.integers(0, 10_000),
    ),
    max_size=30,
)


def after(events, *, twice: bool = False) -> tuple[Spending, Uptime]:
    """The spending after these events, each through the record on disk."""
    spending, now = Spending(), UP
    for call, what, later_ms, tokens in events:
        now = now.with_(ms=now.ms + later_ms)
        for _ in range(1 + twice):
            if what == "started":
                spending = spending.started(call, now, until=now.ms + MINUTE_MS)
            elif what == "ended":
                spending = spending.ended(call, now)
            else:
                spending = spending.told(call, tokens)
            spending = Spending.read(json.loads(json.dumps(spending.to_data())))
    return spending, now


@given(EVENTS)
def test_what_is_seen_twice_counts_once(events):
    """Two installs see every event, and a hook that was killed is repeated."""
    assert after(events, twice=True) == after(events)


@given(EVENTS)
def test_an_hour_is_part_of_the_session(events):
    spending, now = after(events)

    for what in WHATS:
        used = spending.used(what, "session", now)
        assert 0 <= spending.used(what, "hour", now) <= used


@given(EVENTS, st.integers(0, 3 * HOUR_MS))
def test_a_session_never_uses_less_later(events, later_ms):
    """Also when the calls of the last hour are added up."""
    spending, now = after(events)
    later = now.with_(ms=now.ms + later_ms)
    folded = spending.started("new", later, until=later.ms)

    for what in WHATS:
        before = spending.used(what, "session", later)
        assert folded.used(what, "session", later) == before + (what == "agents")


@given(EVENTS, st.integers(1, 5), st.sampled_from(WHATS))
def test_it_frees_when_it_says(events, most, what):
    spending, now = after(events)

    frees_at = spending.frees_at(what, most, now)

    def used(at):
        return spending.used(what, "hour", now.with_(ms=at))

    assert now.ms <= frees_at <= now.ms + HOUR_MS
    if used(now.ms) >= most and not _works(spending, now):
        assert used(frees_at) < most <= used(frees_at - 1)


def _works(spending: Spending, now: Uptime) -> bool:
    return any(c.end is None and c.until > now.ms for c in spending.charges.values())


@given(EVENTS, st.integers(1, 4))
def test_an_hour_never_holds_more_than_was_allowed(events, most):
    """Whoever asks before each start is never let past the limit."""
    spending, now, starts = Spending(), UP, []
    for number, (_, _, later_ms, _) in enumerate(events):
        now = now.with_(ms=now.ms + later_ms)
        if spending.used("agents", "hour", now) < most:
            spending = spending.started(str(number), now, until=now.ms)
            starts.append(now.ms)

    for at in starts:
        assert sum(0 <= at - each < HOUR_MS for each in starts) <= most


def test_a_reboot_begins_a_new_hour_and_no_new_session():
    spending, _ = after([("a", "started", 0, 0), ("a", "told", 0, 7)])
    rebooted = Uptime(boot="another", ms=5)

    assert spending.used("agents", "hour", rebooted) == 0
    assert spending.used("tokens", "session", rebooted) == 7
    again = spending.started("b", rebooted, until=9)
    assert again.used("agents", "session", rebooted) == 2
    assert again.used("agents", "hour", rebooted) == 1
    # Its end was on the clock of the boot before.
    assert again.ended("a", rebooted) == again


def test_an_agent_whose_end_nobody_saw_works_until_its_time():
    """Its client was killed."""
    spending, now = after([("a", "started", 0, 0), ("a", "told", 0, 7)])
    later = [now.with_(ms=now.ms + MINUTE_MS + more) for more in (0, HOUR_MS)]

    assert [spending.used("tokens", "hour", when) for when in later] == [7, 0]


HOSTILE = (
    -1, -LATEST_MS, 2**53, 10**400, 1.5, 1e308, True, None, "7", [], {}, [1],
)  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: str(v)[:12])
def test_what_cannot_be_is_not_believed(value):
    """Nothing raises, and nothing is taken off."""
    usual = {"at": UP.ms, "until": UP.ms, "end": UP.ms, "tokens": 5}
    kept = {"boot": UP.boot, "agents": 3, "calls": {"good": usual}}
    for key in (*usual, "agents", "tokens", "untold", "calls", "boot", "warned"):
        raw = json.loads(json.dumps(kept))
        if key in usual:
            raw["calls"]["bad"] = usual | {key: value}
        if key not in usual or key == "tokens":
            raw[key] = value

        spending = Spending.read(raw)

        for what in WHATS:
            for window in ("hour", "session"):
                assert spending.used(what, window, UP) >= 0
        if key != "boot":
            assert spending.used("agents", "hour", UP) >= (key != "calls")
        spending.frees_at("tokens", 1, UP)
        json.dumps(spending.started("new", UP, until=UP.ms).to_data())


@pytest.mark.parametrize("until", [10**13, LATEST_MS])
def test_nobody_works_for_years(until):
    """Its tokens would leave the session none, and time would not free them."""
    damaged = {"at": 10**12, "until": until, "tokens": 9}
    known = {"at": UP.ms, "until": UP.ms + MINUTE_MS, "tokens": 5}
    calls = {"bad": damaged, "good": known}
    after_a_boot = Spending.read({"boot": "before", "calls": calls})
    asked_for_years = Spending().started("a", UP, until=until)

    assert after_a_boot.used("tokens", "session", UP) == 5
    kept = Spending.read(json.loads(json.dumps(asked_for_years.to_data())))
    assert kept.used("agents", "session", UP) == 1


def test_one_from_the_future_is_of_no_hour():
    future = {"at": UP.ms + 5, "until": UP.ms + 9}
    spending = Spending.read({"boot": UP.boot, "calls": {"a": future}})

    assert spending.used("agents", "hour", UP) == 0
    assert spending.used("agents", "session", UP) == 1
