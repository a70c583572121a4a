"""Requests that recently ended without a good answer."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from bridge.bound.budgets import find_spent
from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.subject import Subject
from bridge.protocol.failure_codes import ANSWERED, MEANINGS, cure_of
from bridge.protocol.response import Response
from bridge.store.clock import uptime

_SHOWN = 20
_DAY_MS = 24 * 3_600_000
# This many times in a row is no accident.
_REPEATED = 3

# No fault: somebody wanted it, or the agent itself reported it.
_WANTED = ANSWERED | {"cancelled"}


def recent(subject: Subject) -> Iterator[Finding]:
    """How the last requests ended."""
    store = subject.store()
    if store is None or not store.place.state.is_dir():
        return
    ended = store.newest_responses(2 * _SHOWN)[:_SHOWN]
    now = uptime(store.clock)
    is_spent = any(find_spent(session, now) for session in subject.live_sessions())
    over = _WANTED if is_spent else _WANTED | {"budget"}
    yield from judge(ended, store.now_ms(), over)


def judge(
    ended: Sequence[Response], now_ms: int, over: Collection[str] = _WANTED
) -> Iterator[Finding]:
    """One finding for each kind of failure of the last day; `ended` is newest first.

    Not for those that are `over`: nothing is wrong any more.
    """
    fresh = [r for r in ended if now_ms - r.completed_at < _DAY_MS]
    codes = [r.error.code if r.error else None for r in fresh]
    counted = Counter(code for code in codes if code and code not in over)
    for code, count in counted.most_common():
        newest = fresh[codes.index(code)]
        assert newest.error is not None  # noqa: S101 - it has this code
        in_a_row = codes[:_REPEATED] == [code] * _REPEATED
        report = problem if in_a_row else warning
        yield report(
            f"{count} of the last {len(fresh)} ended with {code}"
            f"{', the newest all in a row' if in_a_row else ''}: {newest.request_id}: "
            f"{newest.error.message}",
            # The message says it already, unless it is an agent's own.
            "" if MEANINGS[code] in newest.error.message else MEANINGS[code],
            cure_of(code, newest.error.stage, newest.request_id, newest.route),
        )
    if not counted:
        yield ok(
            f"no failure among the last {len(fresh)}" if fresh else "none in a day"
        )
