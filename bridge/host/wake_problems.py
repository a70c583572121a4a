"""Whether an open session can be woken; if not, why, and what helps: one table.

Used by `ask` and `wait`, when their time is up, and by `doctor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.store import wakeups

if TYPE_CHECKING:
    from bridge.store.sessions import Session
    from bridge.store.store import Store

# An answer takes a second or two, and a start as long.
ANSWER_S = 5.0
START_MS = 5_000


@dataclass(frozen=True, slots=True)
class Unheard:
    """Why a session cannot be woken: what is the case, its cause, what to do."""

    what: str
    cause: str
    cure: str


JUST_STARTED = Unheard(
    "has just started",
    "its client does not watch its wake-up file yet",
    "wait a few seconds and ask again",
)
NO_WATCH = Unheard(
    "does not watch its wake-up file",
    "it was open before the hooks were registered, or its SessionStart hook failed",
    "type anything into it, or restart it (claude --continue)",
)
UNANSWERED = Unheard(
    "has not answered its wake-up file",
    "its hooks no longer run, it hangs, or another program's FileChanged or CwdChanged "
    "hook took its watch",
    "type anything into it, or restart it (claude --continue); /hooks shows what it "
    "runs",
)
CAUSES = (JUST_STARTED, NO_WATCH, UNANSWERED)


def why_unheard(store: Store, session: Session) -> Unheard | None:
    """Why an idle session would not take a request; None if it can be woken."""
    ringing_s = wakeups.unanswered_s(store, session.host)
    is_ringing = ringing_s is not None and ringing_s >= ANSWER_S
    if not session.wakes:
        return NO_WATCH
    if is_ringing:
        return UNANSWERED
    age_ms = store.now_ms() - session.registered_at
    if ringing_s is not None and 0 <= age_ms < START_MS:
        return JUST_STARTED
    return None


def complaint(store: Store, sessions: list[Session]) -> str:
    """One sentence about the first of these sessions; empty if any can be woken."""
    found = [(session, why_unheard(store, session)) for session in sessions]
    if not found or any(why is None for _, why in found):
        return ""
    session, why = found[0]
    assert why is not None  # noqa: S101 - as was just seen
    ringing_s = wakeups.unanswered_s(store, session.host)
    since = f" for {ringing_s:.0f} s" if why is UNANSWERED and ringing_s else ""
    return (
        f"session {session.session_id} (pid {session.host.pid}) {why.what}{since}: "
        f"{why.cause}; {why.cure}"
    )
