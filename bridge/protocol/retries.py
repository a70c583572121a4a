"""What a failed try leads to: another one, later, or the end. Pure.

One table says which failures may pass. A limit of a plan is waited for, and spends no
try; the others are tried again up to `max_attempts`, later each time.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal
from zlib import crc32

from bridge.protocol.claim import MAX_KEPT, MAX_MESSAGE, FailedTry
from bridge.protocol.failure_codes import FailureCode
from bridge.protocol.named_time import named_time
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.wording import fitted, squeezed

# Not here: decisions of a person or of our own limits, and failures that would repeat.
PASSING: dict[FailureCode, Literal["spends a try", "is waited for"]] = {
    "agent_error": "spends a try",
    "empty_answer": "spends a try",
    "host_gone": "spends a try",
    "model_died": "spends a try",
    "quota": "is waited for",
}
# The pauses after the first failure, the second, and so on, in seconds; the last one is
# repeated.
TRY_PAUSES_S = (1, 4, 15, 60, 300)
LIMIT_PAUSES_S = (30, 60, 120, 300, 600, 900)
# Many that failed at once do not come back at once: a pause is up to so much longer,
_SPREAD = 0.25
# and one until a time that was named up to so many seconds.
_SPREAD_S = 30.0
_MARGIN_S = 1.0
# The shortest pause until a time that was named grows so with each refusal before: a
# provider that says "in 1 s" for ever is asked less than forty times a day.
_GROWTH = 2
LONGEST_LEAST_S = 3600
# Words of a provider that would say the same again, and of a processor that lacks what
# the model's library was compiled for.
_LASTING = re.compile(
    r"\bSIGILL\b|invalid_request|authentication|permission_error|not_found_error"
    r"|(?:\bHTTP|\bAPI Error:?|\bstatus)\s*40[0134]\b",
    re.I,
)
_UNPAID = re.compile(
    r"billing|credit balance|insufficient|usage credits|spend limit", re.I
)


def after_failure(
    request: Request, response: Response, now_ms: int
) -> Request | Response:
    """A claimed request as it waits again, or the response that ends it.

    `response` is the failure of this try.
    """
    failure = response.error
    how = PASSING.get(failure.code) if failure else None
    if failure is None or how is None:
        return response
    code, words = failure.code, failure.message
    is_limit = how == "is waited for"
    named_ms = named_time(words, now_ms) if is_limit else None
    lasts = _UNPAID.search(words) if is_limit else _LASTING.search(words)
    if is_limit and not request.wait_quota:
        return response
    attempt = request.attempt + (not is_limit)
    is_last = not is_limit and attempt >= request.max_attempts
    if is_last or (lasts and named_ms is None):
        return _told(request, response)
    due_ms = None
    if code != "host_gone":
        due_ms = now_ms + _pause_ms(request, code, named_ms, now_ms)
    if due_ms is not None and due_ms >= request.deadline_ms:
        until = clock_words(due_ms, now_ms)
        return _told(
            request,
            response,
            f"not tried again: the next try would begin at {until}, after the deadline",
        )
    failed = FailedTry(
        at=now_ms,
        code=code,
        message=fitted(squeezed(words), MAX_MESSAGE),
        attempt=request.attempt + 1,
    )
    again = request.with_(
        attempt=attempt, failures=(*request.failures, failed)[-MAX_KEPT:]
    )
    if is_limit and request.declined_by:
        # A session that a limit kept from it may take it when that is over.
        again = again.with_(declined_by=())
    return again.from_(due_ms)


def _pause_ms(
    request: Request, code: FailureCode, named_ms: int | None, now_ms: int
) -> int:
    """How long to wait before the next try, in milliseconds."""
    alike = sum(each.code == code for each in request.failures)
    share = crc32(f"{request.request_id} {len(request.failures)}".encode()) / 2**32
    if named_ms is None:
        pauses = LIMIT_PAUSES_S if code == "quota" else TRY_PAUSES_S
        pause_s = pauses[min(alike, len(pauses) - 1)] * (1 + _SPREAD * share)
        return int(pause_s * 1000)
    left_s = (named_ms - now_ms) / 1000
    # A provider that names a time and refuses again is believed less each time.
    least_s = min(_GROWTH**alike, LONGEST_LEAST_S)
    spread_s = min(_SPREAD_S, _SPREAD * left_s) * share
    return int((max(left_s + _MARGIN_S, least_s) + spread_s) * 1000)


def _told(request: Request, response: Response, why: str = "") -> Response:
    """The response, with the earlier tries in its message."""
    failure = response.error
    is_told = failure is None or failure.code == "host_gone"
    before = "" if is_told else tries_words(request)
    more = "; ".join(filter(None, [why, before]))
    if failure is None or not more:
        return response
    message = f"{failure.message}; {more}"
    return response.with_(error=failure.with_(message=message))


def tries_words(request: Request) -> str:
    """Which tries failed before; empty for none."""
    if not request.failures:
        return ""
    count = len(request.failures)
    times = "once" if count == 1 else f"{count} times"
    codes = ", ".join(dict.fromkeys(each.code for each in request.failures))
    return f"tried {times} before ({codes})"


def pause_words(request: Request, now_ms: int) -> str:
    """Until when a request waits for its next try, and why; empty if it does not."""
    due_ms = request.due_ms
    if due_ms is None or not request.is_paused(now_ms):
        return ""
    until = clock_words(due_ms, now_ms)
    last = request.failures[-1].code if request.failures else ""
    if PASSING.get(last) == "is waited for":  # type: ignore[call-overload]
        return f"waiting until {until} ({last})"
    tries = f"try {request.attempt + 1} of {request.max_attempts}"
    return f"pause before {tries}, until {until}" + (f" ({last})" if last else "")


def late_words(request: Request, now_ms: int) -> str:
    """What a deadline found: what was waited for, or what had failed before."""
    if not (pause := pause_words(request, now_ms)):
        return tries_words(request)
    last = request.failures[-1] if request.failures else None
    if last is None or last.code != "quota":
        return pause
    until = clock_words(request.due_ms or now_ms, now_ms)
    return f"waiting for the usage limit to reset at {until}"


def clock_words(at_ms: int, now_ms: int) -> str:
    """A time of day, here; with its day if that is not today."""
    try:
        moment = datetime.fromtimestamp(at_ms / 1000)  # noqa: DTZ006 - people's time
        today = datetime.fromtimestamp(now_ms / 1000).date()  # noqa: DTZ006
    except (OverflowError, ValueError, OSError):
        return "?"
    if moment.date() != today:
        return f"{moment:%Y-%m-%d %H:%M}"
    return f"{moment:%H:%M:%S}"
