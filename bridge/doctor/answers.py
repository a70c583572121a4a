"""Requests that recently ended without a good answer."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from bridge.doctor.finding import Finding, Verdict, ok
from bridge.protocol.failure_codes import ANSWERED, MEANINGS, cure_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.doctor.subject import Subject
    from bridge.protocol.response import Response

_LOOKED_AT = 20
_DAY_MS = 24 * 3_600_000
# So many times in a row is no accident.
_REPEATED = 3

# What somebody wanted, and what an agent reports itself, is no fault.
_WANTED = ANSWERED | {"cancelled"}


def recent(subject: Subject) -> Iterator[Finding]:
    """How the last requests ended."""
    store = subject.store()
    if store is None or not store.place.state.is_dir():
        return
    ended = list(islice(store.newest_responses(2 * _LOOKED_AT), _LOOKED_AT))
    yield from judge(ended, store.now_ms())


def judge(ended: Sequence[Response], now_ms: int) -> Iterator[Finding]:
    """One finding for each kind of failure of the last day; `ended` is newest first."""
    fresh = [r for r in ended if now_ms - r.completed_at < _DAY_MS]
    codes = [r.error.code if r.error else None for r in fresh]
    counted = Counter(code for code in codes if code and code not in _WANTED)
    for code, count in counted.most_common():
        id_, error = next(
            (r.request_id, r.error) for r in fresh if r.error and r.error.code == code
        )
        in_a_row = codes[:_REPEATED] == [code] * _REPEATED
        all_newest = ", the newest all in a row" if in_a_row else ""
        yield Finding(
            "answers",
            Verdict.PROBLEM if in_a_row else Verdict.WARNING,
            f"{count} of the last {len(fresh)} ended with {code}{all_newest}: {id_}: "
            f"{error.message}",
            MEANINGS[code],
            cure_of(code, error.stage, id_),
        )
    if not counted:
        found = f"no failure among the last {len(fresh)}" if fresh else "none in a day"
        yield ok("answers", found)
