"""Which limit of a session holds a request back, from records alone."""

from __future__ import annotations

import pytest

from bridge.host.budgets import HeldBack, find_limit, held_back
from bridge.protocol.request import Claim, HostProcess, Request
from bridge.store.sessions import HOUR_MS, Session, SessionLimits

NOW = 1_800_000_000_000
HOST = HostProcess(pid=7, start_time="1", boot="b")
LIMITS = SessionLimits(slots=2, agents_per_hour=3)


def session(name: str = "s1", *ago_ms: int, **limits: object) -> Session:
    """A session that started agents so long ago."""
    return Session(
        session_id=name,
        host=HOST,
        registered_at=NOW,
        launches=tuple(NOW - each for each in ago_ms),
        limits=LIMITS.with_(**limits),
    )


def request(**fields: object) -> Request:
    return Request(request_id="r1", prompt="?", created_at=NOW, **fields)


def claimed(count: int, *, launched: bool = True) -> list[Request]:
    claim = Claim(
        session="s1", host=HOST, at=NOW, launched_at=NOW if launched else None
    )
    return [request(claim=claim)] * count


def find(of: Session, held: int = 0, **fields: object) -> HeldBack | None:
    return find_limit(of, request(**fields), claimed(held), NOW)


@pytest.mark.parametrize(
    ("of", "held", "depth"),
    [
        (session("s1", 1, 2), 1, 0),
        (session("s1", 1, 2, HOUR_MS), 1, 0),
        # The agents of agents have slots of their own.
        (session("s1"), 3, 1),
        (session("s1", -5, -5, -5), 0, 0),
    ],
)
def test_nothing_holds_it_back(of, held, depth):
    assert find(of, held, depth=depth) is None


def test_a_budget_says_when_it_frees():
    assert find(session("s1", HOUR_MS - 90_000, 2, 1)) == HeldBack(
        limit="agents_per_hour",
        session="s1",
        used=3,
        most=3,
        frees_in_s=90.0,
        why="session s1: 3 of 3 agents of this hour are used up (agents_per_hour); the "
        "next may start in 2 min",
        cure="hostbridge config set agents_per_hour 200",
    )


def test_a_limit_that_was_lowered_is_raised_above_what_is_used():
    """Otherwise the named command would free nothing."""
    limit = find(session("s1", *range(150), agents_per_hour=2))

    assert limit is not None
    assert limit.cure == "hostbridge config set agents_per_hour 300"


def test_what_is_promised_counts():
    """It may never be launched: nobody knows when the budget frees."""
    of = session("s1", 1, 2, slots=9)

    limit = find_limit(of, request(), claimed(1, launched=False), NOW)

    assert limit is not None
    assert (limit.limit, limit.used, limit.frees_in_s) == ("agents_per_hour", 3, 0)


def test_a_budget_of_nothing_never_frees():
    limit = find(session("s1", agents_per_hour=0))

    assert limit is not None
    assert limit.why == "session s1: agents_per_hour is 0, so it may start no agent"
    assert limit.cure == "hostbridge config set agents_per_hour 200"


def test_a_variable_of_the_session_is_named():
    """No file would win over it."""
    limit = find(session("s1", by_variable=("slots",)), 2)

    assert limit is not None
    assert limit.cure == "start the session again without BRIDGE_SLOTS=2"


def test_the_session_that_is_free_first_is_named():
    later, sooner = session("s1", 1, 2, 3), session("s2", 9, 10, 11)

    limit = held_back(request(), [later, sooner], (), NOW)

    assert limit is not None
    assert limit.session == "s2"
    assert held_back(request(), [later, session("s3")], (), NOW) is None
    assert held_back(request(), [], (), NOW) is None
