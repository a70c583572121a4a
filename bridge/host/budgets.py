"""What a session may start, and which limit of it holds a request back.

A session writes down the limits that it obeys: nobody else knows its environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bridge.config import DEFAULTS, TABLE
from bridge.protocol.value import Value
from bridge.store.sessions import HOUR_MS, SessionLimits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.config import Settings
    from bridge.protocol.request import Request
    from bridge.store.sessions import Session

Key = Literal["agents_per_hour", "slots"]


class HeldBack(Value):
    """A limit of a session that holds a request back at this moment.

    Attributes:
        limit: the key of the setting.
        session: the id of the session.
        used, most: how much of it is used, and how much there is.
        frees_in_s: when the next agent may start; None for when one ends.
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


def limits_of(settings: Settings) -> SessionLimits:
    """The limits of the session that has these settings."""
    return SessionLimits(
        slots=settings.slots,
        agents_per_hour=settings.agents_per_hour,
        by_variable=tuple(
            key
            for key in ("slots", "agents_per_hour")
            if settings.sources.get(key) == TABLE[key].variable
        ),
    )


def find_limit(
    session: Session, request: Request, claimed: Iterable[Request], now_ms: int
) -> HeldBack | None:
    """The limit that keeps a session from taking a request; None if none does.

    `claimed` are all requests that anybody holds.
    """
    limits = session.limits or _usual()
    claims = [r.claim for r in claimed if r.claim and r.claim.host == session.host]
    promised = sum(claim.launched_at is None for claim in claims)
    if spent := find_spent(session, now_ms, promised):
        return spent
    if len(claims) >= limits.slots * (1 + request.depth):
        return _held(session, limits, "slots", len(claims), None)
    return None


def find_spent(session: Session, now_ms: int, promised: int = 0) -> HeldBack | None:
    """The agents of this hour, if they are used up.

    `promised` is how many it has claimed but not launched.
    """
    limits = session.limits or _usual()
    started, most = session.launches_of_hour(now_ms), limits.agents_per_hour
    used = len(started) + promised
    if used < most:
        return None
    left_ms = frees_at_ms(started, most, now_ms) - now_ms
    return _held(session, limits, "agents_per_hour", used, left_ms)


def _usual() -> SessionLimits:
    return SessionLimits(
        slots=DEFAULTS["slots"], agents_per_hour=DEFAULTS["agents_per_hour"]
    )


def held_back(
    request: Request,
    able: Sequence[Session],
    claimed: Sequence[Request],
    now_ms: int,
) -> HeldBack | None:
    """What holds a waiting request back, in the session that is free first.

    `able` are the sessions that may take it.
    """
    found = []
    for session in able:
        limit = find_limit(session, request, claimed, now_ms)
        if limit is None:
            return None
        found.append(limit)
    return min(found, key=lambda limit: limit.frees_in_s or 0, default=None)


def frees_at_ms(started: Sequence[int], most: int, now_ms: int) -> int:
    """When a session may start another agent; `started` are those of this hour."""
    if not most:
        return now_ms + HOUR_MS
    return started[-most] + HOUR_MS if len(started) >= most else now_ms


def _held(
    session: Session, limits: SessionLimits, key: Key, used: int, left_ms: int | None
) -> HeldBack:
    most = limits.slots if key == "slots" else limits.agents_per_hour
    more = max(2 * most, 2 * used, DEFAULTS[key])
    left_s = None if left_ms is None else left_ms / 1000
    if left_s is None:
        what = (
            f"{used} of {most} agents are busy ({key}); it goes on when one of them "
            "ends"
        )
    elif most:
        what = (
            f"{used} of {most} agents of this hour are used up ({key}); the next may "
            f"start in {_about(left_s)}"
        )
    else:
        what = f"{key} is 0, so it may start no agent"
    cure = f"hostbridge config set {key} {more}"
    if key in limits.by_variable:
        variable = TABLE[key].variable
        cure = f"start the session again without {variable}={most}"
    return HeldBack(
        limit=key,
        session=session.session_id,
        used=used,
        most=most,
        frees_in_s=left_s,
        why=f"session {session.session_id}: {what}",
        cure=cure,
    )


def _about(seconds: float) -> str:
    """A time of at most an hour, as people say it."""
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes > 1 else f"{max(1, seconds):.0f} s"
