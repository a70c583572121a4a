"""Which limit of a session holds a request back, from records alone."""

from math import inf

import pytest
from spent import MINUTE_MS, UP, spent

from bridge.bound.budgets import HeldBack, find_limit, find_spent, held_back, news_of
from bridge.protocol.claim import Claim, HostProcess
from bridge.protocol.request import Request
from bridge.setting import MOST
from bridge.store.sessions import Session, SessionLimits
from bridge.store.spending import HOUR_MS, Spending

NOW = 1_800_000_000_000
HOST = HostProcess(pid=7, start_time="1", boot="b")
LIMITS = SessionLimits(slots=2, agents_per_hour=3)


FREE = "the next agent may start in 57 min"
NEVER = "time does not free them"
# What two agents used each, three and two minutes ago; a limit; what is said of it.
BUDGETS = (
    ({"tokens": 50}, {"tokens_per_hour": 100}, "100 of 100 tokens", FREE),
    ({}, {"agents_per_session": 2}, "2 of 2 agents", NEVER),
    ({"tokens": 600}, {"tokens_per_session": 1000}, "1,200 of 1,000 tokens", NEVER),
)


def session(name: str = "s1", *ago_ms: int, **limits: object) -> Session:
    """A session that started agents so long ago."""
    return Session(
        session_id=name,
        host=HOST,
        registered_at=NOW,
        spent=spent(UP, *ago_ms),
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
    return find_limit(of, request(**fields), claimed(held), UP)


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
        "next agent may start in 2 min",
        cure="hostbridge config set agents_per_hour 6",
    )


def test_a_limit_that_was_lowered_is_raised_above_what_is_used():
    """Otherwise the named command would free nothing."""
    limit = find(session("s1", *range(150), agents_per_hour=2))

    assert limit.cure == "hostbridge config set agents_per_hour 300"


def test_what_is_promised_counts():
    """It may never be launched: nobody knows when the budget frees."""
    of = session("s1", 1, 2, slots=9)

    limit = find_limit(of, request(), claimed(1, launched=False), UP)

    assert (limit.limit, limit.used, limit.frees_in_s) == ("agents_per_hour", 3, 0)


def test_a_budget_of_nothing_never_frees():
    limit = find(session("s1", agents_per_hour=0))

    assert limit.why == "session s1: agents_per_hour is 0, so it may start no agent"
    assert limit.cure == "hostbridge config set agents_per_hour 200"


def test_a_variable_of_the_session_is_named():
    """No file would win over it."""
    limit = find(session("s1", by_variable=("slots",)), 2)

    assert limit.cure == "start the session again without BRIDGE_SLOTS=2"


def test_the_session_that_is_free_first_is_named():
    later, sooner = session("s1", 1, 2, 3), session("s2", 9, 10, 11)

    limit = held_back(request(), [later, sooner], (), UP)

    assert limit.session == "s2"
    assert held_back(request(), [later, session("s3")], (), UP) is None
    assert held_back(request(), [], (), UP) is None


@pytest.mark.parametrize(("used", "limits", "what", "until"), BUDGETS)
def test_each_budget_stops_and_says_what_helps(used, limits, what, until):
    of = session("s1", slots=9, agents_per_hour=9, **limits)
    of = of.with_(spent=spent(UP, 3 * MINUTE_MS, 2 * MINUTE_MS, **used))

    limit = find_spent(of, UP)

    ((key, _),) = limits.items()
    window = key.rpartition("_")[2]
    assert limit.why == (
        f"session s1: {what} of this {window} are used up ({key}); {until}"
    )
    assert limit.cure.startswith(f"hostbridge config set {key} ")
    assert (limit.wait_s == inf) == (until == NEVER)


def test_of_several_budgets_the_last_to_free_is_named():
    """What frees another would free nothing."""
    of = session("s1", 3, 2, 1, tokens_per_session=0)

    limit = find_spent(of, UP)

    assert (limit.limit, limit.wait_s) == ("tokens_per_session", inf)


def test_a_limit_beyond_what_can_be_set_needs_a_new_session():
    of = session("s1", slots=9, agents_per_hour=9, tokens_per_session=10)
    of = of.with_(spent=spent(UP, 1, tokens=MOST))

    limit = find_spent(of, UP)

    assert limit.cure == "start a new session"


def test_tokens_that_were_not_told_are_not_guessed():
    of = session("s1", 2, 1, slots=9, agents_per_hour=9, tokens_per_hour=10)
    told = of.spending.told("toolu_0", 8)

    near, _ = news_of(of.with_(spent=told.to_data()), UP)

    assert near == (
        "hostbridge: 8 of 10 tokens of this hour; of 1 more agents the client told "
        "none are used (tokens_per_hour); more: hostbridge config set tokens_per_hour "
        "20"
    )


@pytest.mark.parametrize("used", range(12))
def test_the_user_is_told_once_at_80_percent_and_once_at_the_end(used):
    """Whatever the number of agents between two looks."""
    of = session("s1", agents_per_hour=10)
    said = []
    for count in (*range(used + 1), used):
        charges = Spending.read(spent(UP, *range(count))).charges
        spending = of.spending._replace(boot=UP.boot, charges=charges)
        of = of.with_(spent=spending.to_data())
        line, told = news_of(of, UP)
        said += [line] if line else []
        of = of.with_(spent=spending._replace(warned=told).to_data())

    assert len(said) == (used >= 8) + (used >= 10)
    assert ["no more agents start" in line for line in said] == [False, True][
        : len(said)
    ]


def test_a_budget_that_has_freed_is_told_of_again():
    of = session("s1", 5, 4, 3, agents_per_hour=3)
    _, told = news_of(of, UP)
    of = of.with_(spent=of.spending._replace(warned=told).to_data())
    later = UP.with_(ms=UP.ms + HOUR_MS)

    line, told = news_of(of, later)

    assert (line, told) == ("", ())
