"""Why a request waits: the one place that decides it, for every screen. Pure.

The rows are asked in order, and the first that holds is the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.protocol.question import asks_words
from bridge.protocol.request import Request, Uptime
from bridge.store.sessions import Session

if TYPE_CHECKING:
    from bridge.bound.budgets import HeldBack

Kind = Literal[
    "off", "reply", "pause", "process", "session", "switched off", "declined", "person",
    "slots", "budget", "turn",
]  # fmt: skip

# The reasons that mean that no session can take a request.
NOBODY: tuple[Kind, ...] = ("off", "session", "switched off", "declined")


class Waits(NamedTuple):
    """What a request waits for.

    Attributes:
        kind: which reason it is.
        what: the same in a few words, for a table.
        cure: the command, or the step, that helps; empty if nothing needs help.
        for_s: for how long at least; None if nobody knows.
        limit: the limit of a session, of kind person, slots and budget.
    """

    kind: Kind
    what: str
    cure: str = ""
    for_s: float | None = None
    limit: HeldBack | None = None


class Around(NamedTuple):
    """What a request waits among: `live` sessions, those `on`, and who has what.

    `now` is a time on a clock that nobody sets, `now_ms` the wall clock's.
    """

    live: Sequence[Session]
    on: Sequence[Session]
    claimed: Sequence[Request]
    now: Uptime
    now_ms: int = 0
    is_off: bool = False


def why_waits(request: Request, around: Around) -> Waits:
    """Why a request that nobody has claimed waits."""
    if around.is_off:
        return Waits("off", "hostbridge is off", "hostbridge on")
    if request.asks is not None:
        what = f"a reply to {asks_words(request.asks)}"
        return Waits("reply", what, f"hostbridge reply {request.request_id}")
    if request.is_paused(around.now_ms):
        from bridge.protocol.retries import pause_words  # few requests wait for that

        left_s = ((request.due_ms or 0) - around.now_ms) / 1000
        return Waits("pause", pause_words(request, around.now_ms), for_s=left_s)
    if request.route != "host":
        what = f"a process of route {request.route}"
        return Waits("process", what, f"hostbridge serve --route {request.route}")
    able = [session for session in around.on if session.may_take(request)]
    if not able:
        return _nobody(request, around.live)
    # Without a session nobody needs it.
    from bridge.bound.budgets import held_back

    limit = held_back(request, able, around.claimed, around.now)
    if limit is None:
        return Waits("turn", "a session's next step")
    return _limited(limit)


def _nobody(request: Request, live: Sequence[Session]) -> Waits:
    if any(session.may_take(request) for session in live):
        what = "a session: they are off"
        return Waits("switched off", what, "hostbridge on --session ID")
    meant = [s for s in live if request.session in (None, *s.ids)]
    if meant:
        what = "a session: all have declined"
        return Waits("declined", what, "hostbridge doctor --live")
    if request.session is not None:
        what = f"session {request.session}: not open"
        return Waits("session", what, f"claude --resume {request.session}")
    return Waits("session", "a session: none is open")


def _limited(limit: HeldBack) -> Waits:
    if limit.limit == "fan_out":
        return Waits("person", "your yes", limit.cure, limit=limit)
    if limit.limit == "slots":
        what = f"a slot: {limit.used} of {limit.most} busy"
        return Waits("slots", what, limit.cure, limit=limit)
    return Waits("budget", f"{limit.limit}: spent", limit.cure, limit.frees_in_s, limit)
