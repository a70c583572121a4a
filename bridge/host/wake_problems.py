"""Whether an open session can be woken; if not, why, and what helps: one table.

Used by `ask` and `wait`, at once and when their time is up, and by `doctor`.
"""

from dataclasses import dataclass

from bridge.store import wakeups
from bridge.store.sessions import Session
from bridge.store.store import Store

# An answer takes a second or two, and a start as long.
ANSWER_S = 5.0
START_MS = 5_000


@dataclass(frozen=True, slots=True)
class WakeProblem:
    """Why a session cannot be woken: what is the case, its cause, what to do."""

    what: str
    cause: str
    cure: str


JUST_STARTED = WakeProblem(
    "has just started",
    "its client does not watch its wake-up file yet",
    "wait a few seconds and ask again",
)
NO_WATCH = WakeProblem(
    "does not watch its wake-up file",
    "it was open before the hooks were registered, or its SessionStart hook failed",
    "type anything into it, or restart it (claude --continue)",
)
UNANSWERED = WakeProblem(
    "has not answered its wake-up file",
    "its hooks no longer run, it hangs, or another program's FileChanged or CwdChanged "
    "hook took its watch",
    "type anything into it, or restart it (claude --continue); /hooks shows what it "
    "runs",
)


def find_wake_problem(store: Store, session: Session) -> WakeProblem | None:
    """Why an idle session would not take a request; None if it can be woken."""
    if not session.wakes:
        return NO_WATCH
    unanswered_s = wakeups.unanswered_s(store, session.host)
    if unanswered_s is None:
        return None
    if unanswered_s >= ANSWER_S:
        return UNANSWERED
    age_ms = store.now_ms() - session.registered_at
    return JUST_STARTED if 0 <= age_ms < START_MS else None


def may_hear(store: Store, sessions: list[Session]) -> bool:
    """Whether one of these sessions would take a request though it is idle now."""
    heard = (None, JUST_STARTED)
    return any(find_wake_problem(store, session) in heard for session in sessions)


def complaint(store: Store, sessions: list[Session]) -> str:
    """One sentence about the first of these sessions; empty if any can be woken."""
    problems = [find_wake_problem(store, session) for session in sessions]
    if not problems or None in problems:
        return ""
    session, why = sessions[0], problems[0]
    assert why is not None  # noqa: S101 - as was just seen
    waited_s = wakeups.unanswered_s(store, session.host)
    since = f" for {waited_s:.0f} s" if why is UNANSWERED and waited_s else ""
    return (
        f"session {session.session_id} (pid {session.host.pid}) {why.what}{since}: "
        f"{why.cause}; {why.cure}"
    )
