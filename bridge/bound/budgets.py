"""What a session may start, and which limit of it holds a request back. Pure.

A session writes down the limits that it obeys: nobody else knows its environment. What
it has used is in its record, too (`bridge.store.spending`).
"""

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Literal, NamedTuple

from bridge.config import DEFAULTS, TABLE, Settings
from bridge.protocol.request import Request, Uptime
from bridge.protocol.value import Value
from bridge.setting import MOST, number_text
from bridge.store.sessions import Session, SessionLimits
from bridge.store.spending import What, Window

Key = Literal[
    "agents_per_hour", "agents_per_session", "tokens_per_hour", "tokens_per_session",
    "slots", "fan_out",
]  # fmt: skip

# From this share on, the user is warned.
_NEAR_PERCENT = 80


class _Budget(NamedTuple):
    """One budget: what is counted, over which time, and how people call it."""

    key: Key
    what: What
    window: Window
    words: str


_BUDGETS = (
    _Budget("agents_per_session", "agents", "session", "agents"),
    _Budget("tokens_per_session", "tokens", "session", "tokens"),
    _Budget("agents_per_hour", "agents", "hour", "agents"),
    _Budget("tokens_per_hour", "tokens", "hour", "tokens"),
)
_KEYS = ("slots", "fan_out", "max_depth", *(budget.key for budget in _BUDGETS))


class HeldBack(Value):
    """A limit of a session that holds a request back at this moment.

    Attributes:
        limit: the key of the setting.
        session: the id of the session.
        used, most: how much of it is used, and how much there is.
        frees_in_s: when the next agent may start; None if nobody knows, or never.
        why: a sentence for people.
        cure: the command, or the step, that frees it now.
    """

    limit: Key
    session: str
    used: int
    most: int
    frees_in_s: float | None
    why: str
    cure: str

    @property
    def is_of_session(self) -> bool:
        """Whether it is the budget of a whole session, which time does not free."""
        return self.limit.endswith("_session")

    @property
    def wait_s(self) -> float:
        """How long it holds at least: 0 if it may free at any moment, inf for ever."""
        if self.frees_in_s is None:
            return 0 if self.limit in ("slots", "fan_out") else inf
        return self.frees_in_s


class Use(Value):
    """How much of one budget is used."""

    key: Key
    used: int
    most: int

    @property
    def percent(self) -> int:
        """The used share; 100 for a budget of nothing."""
        return self.used * 100 // self.most if self.most else 100

    @property
    def is_near(self) -> bool:
        """Whether the user is warned of it."""
        return self.percent >= _NEAR_PERCENT


def limits_of(settings: Settings) -> SessionLimits:
    """The limits of the session that has these settings."""
    return SessionLimits(
        **{key: getattr(settings, key) for key in _KEYS},
        by_variable=tuple(
            key for key in _KEYS if settings.sources.get(key) == TABLE[key].variable
        ),
    )


def find_limit(
    session: Session, request: Request, claimed: Iterable[Request], now: Uptime
) -> HeldBack | None:
    """The limit that keeps a session from taking a request; None if none does.

    `claimed` are all requests that anybody holds.
    """
    claims = [r.claim for r in claimed if r.claim and r.claim.host == session.host]
    promised = sum(claim.launched_at is None for claim in claims)
    if spent := find_spent(session, now, promised):
        return spent
    most = _most(session, "slots")
    if len(claims) < most * (1 + request.depth):
        return None
    what = (
        f"{len(claims)} of {most} agents are busy (slots); it goes on when one of them "
        "ends"
    )
    return _held(session, Use(key="slots", used=len(claims), most=most), what, None)


def find_spent(session: Session, now: Uptime, promised: int = 0) -> HeldBack | None:
    """The budget that is used up; of several, the one that frees last.

    `promised` is how many it has claimed but not launched: they count as agents.
    """
    found = [
        _spent(session, budget, Use(key=budget.key, used=used, most=most), now)
        for budget, used, most in _uses(session, now, promised)
        if used >= most
    ]
    return max(found, key=lambda limit: limit.wait_s, default=None)


def uses_of(session: Session, now: Uptime) -> list[Use]:
    """How much of each budget a session has used."""
    return [
        Use(key=budget.key, used=used, most=most)
        for budget, used, most in _uses(session, now)
    ]


def _uses(
    session: Session, now: Uptime, promised: int = 0
) -> Iterator[tuple[_Budget, int, int]]:
    """Each budget, how much of it is used, and how much there is."""
    spending = session.spending
    for budget in _BUDGETS:
        used = spending.used(budget.what, budget.window, now)
        used += promised if budget.what == "agents" else 0
        yield budget, used, _most(session, budget.key)


def news_of(session: Session, now: Uptime) -> tuple[str, tuple[str, ...]]:
    """What to tell the user of the budgets, once, and what has been told by then.

    A budget is told of when it is nearly used up, and when it is; if it frees, again.
    """
    state = {
        f"{use.key} {'spent' if use.used >= use.most else 'near'}": use
        for use in uses_of(session, now)
        if use.is_near
    }
    fresh = [use for name, use in state.items() if name not in session.spending.warned]
    # Since one is told of "near" and "spent", it need not be told of "near" again.
    told = {*state, *(f"{name.split()[0]} near" for name in state)}
    if not fresh:
        return "", tuple(sorted(told))
    words = "; ".join(f"{about(session, use)} are used ({use.key})" for use in fresh)
    is_over = any(use.used >= use.most for use in fresh)
    stop = ", so no more agents start" if is_over else ""
    return f"hostbridge: {words}{stop}; more: {cure_of(session, fresh[0])}", tuple(
        sorted(told)
    )


def held_back(
    request: Request, able: Sequence[Session], claimed: Sequence[Request], now: Uptime
) -> HeldBack | None:
    """What holds a waiting request back, in the session that is free first.

    `able` are the sessions that may take it.
    """
    if request.held is not None:
        return _surplus(request, request.held)
    found = []
    for session in able:
        limit = find_limit(session, request, claimed, now)
        if limit is None:
            return None
        found.append(limit)
    return min(found, key=lambda limit: limit.wait_s, default=None)


def _surplus(request: Request, most: int) -> HeldBack:
    who = request.requester or "one program"
    if request.asker is not None:
        who = f"session {request.asker}"
    elif request.parent_request_id is not None:
        who = f"the agent of {request.parent_request_id}"
    return HeldBack(
        limit="fan_out",
        session=request.session or "",
        used=most,
        most=most,
        frees_in_s=None,
        why=f"{who} asked for more than {most} agents at once (fan_out); the others "
        "wait for a person's yes",
        cure="hostbridge reply --all-held",
    )


def about(session: Session, use: Use) -> str:
    """One budget in words, such as `163 of 200 agents of this hour`."""
    (budget,) = (each for each in _BUDGETS if each.key == use.key)
    of = f"{use.used:,} of {use.most:,} {budget.words} of this {budget.window}"
    untold = session.spending.not_told() if budget.what == "tokens" else 0
    told = f"; of {untold} more agents the client told none" if untold else ""
    return of + told


def cure_of(session: Session, use: Use) -> str:
    """What allows more at once."""
    if session.limits and use.key in session.limits.by_variable:
        variable = TABLE[use.key].variable
        return f"start the session again without {variable}={use.most}"
    if use.used >= MOST:
        return "start a new session"
    # Twice as much: whoever chose a small one wants no more than is needed.
    more = min(MOST, 2 * max(use.most, use.used) or DEFAULTS[use.key])
    return f"hostbridge config set {use.key} {number_text(more)}"


def _most(session: Session, key: Key) -> int:
    most = getattr(session.limits, key) if session.limits else None
    found: int = DEFAULTS[key] if most is None else most
    return found


def _spent(session: Session, budget: _Budget, use: Use, now: Uptime) -> HeldBack:
    if not use.most:
        what = f"{use.key} is 0, so it may start no agent"
        return _held(session, use, what, None)
    gone = f"{about(session, use)} are used up ({use.key})"
    if budget.window == "session":
        return _held(session, use, f"{gone}; time does not free them", None)
    left_ms = session.spending.frees_at(budget.what, use.most, now) - now.ms
    what = f"{gone}; the next agent may start in {_about(left_ms / 1000)}"
    return _held(session, use, what, left_ms / 1000)


def _held(session: Session, use: Use, what: str, left_s: float | None) -> HeldBack:
    return HeldBack(
        limit=use.key,
        session=session.session_id,
        used=use.used,
        most=use.most,
        frees_in_s=left_s,
        why=f"session {session.session_id}: {what}",
        cure=cure_of(session, use),
    )


def _about(seconds: float) -> str:
    """A time of at most an hour, as people say it."""
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes > 1 else f"{max(1, seconds):.0f} s"
