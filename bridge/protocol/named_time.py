"""When a limit is over, from the words of whoever refused.

    Claude AI usage limit reached|1749924000
    You've hit your session limit · resets 8:30pm (Asia/Tokyo)
    Your limit will reset at 1pm (Etc/GMT+5).
    5-hour limit reached ∙ resets Oct 9, 10am
    Please try again in 6m0s.
    HTTP 429: slow down (retry-after: 30)

A time of day without a zone is one of this machine. Which zones there are is read from
the system's own table.

Source: what Claude Code prints, as quoted in the public issues of anthropics/
claude-code (2087, 9236, 54698, 77082); RFC 9110, section 10.2.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain

# A limit that is said to last longer is not believed.
LONGEST_S = 7 * 24 * 3600
# Times of day are rounded, and clocks differ: a limit may be over a little later.
JUST_PASSED_S = 600
_READ_CHARS = 2_000
_NEAR_CHARS = 80
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = (
    "jan", "feb", "mar", "apr", "may", "jun",
    "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}

_BAR = re.compile(r"\|\s*([0-9]{10}(?:[0-9]{3})?)\b")
# What comes before a time that is the end of a limit.
_ANCHOR = re.compile(
    r"\b(?:resets?|resetting|try again|retry(?:[ -]after)?|available|until)\b"
    r"[\s:=·∙\"']*(?:(?:again|at|on|in|after|is)\b[\s:=]*)*",
    re.I,
)
_EPOCH = re.compile(r"([0-9]{10}(?:[0-9]{3})?)\b")
_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.[0-9]+)?"
    r"\s*(Z\b|UTC\b|[+-][0-9]{2}:?[0-9]{2})?"
)
_PART = re.compile(
    r"([0-9]{1,7}(?:\.[0-9]{1,6})?)\s*"
    r"(ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)"
    r"(?![a-z])(?:[\s,]|and)*",
    re.I,
)
_SECONDS = re.compile(r"([0-9]{1,7})(?:\.[0-9]+)?(?=$|[\s,;.)\]}\"'])")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*\.?"
_CLOCK = re.compile(
    rf"(?:(?P<day>today|tomorrow|(?:{'|'.join(_DAYS)})[a-z]*\.?),?\s+)?"
    rf"(?:(?:(?P<month>{_MONTH})\s+(?P<date>[0-9]{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<date2>[0-9]{{1,2}})\s+(?P<month2>{_MONTH}))"
    r",?\s*(?P<year>[0-9]{4}\b,?\s*)?)?"
    r"(?:at\s+)?"
    r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2}))?(?::(?P<second>[0-9]{2}))?"
    r"\s*(?P<half>[ap])?(?(half)\.?m\b\.?)"
    r"(?:\s*\(?(?P<zone>UTC|GMT|[A-Z][A-Za-z]+(?:/[A-Za-z0-9_+-]+){1,2})\b)?",
    re.I,
)


def named_time(text: str, now_ms: int) -> int | None:
    """The first time after now that the words name as the end of a limit.

    Both are in milliseconds since 1970. None if they name none, or only one that has
    passed, or one that is more than `LONGEST_S` away. A time of day is the next such
    moment; one that has passed by less than `JUST_PASSED_S` is now, not tomorrow.
    """
    now_s = now_ms / 1000
    for found_s in _named(text[:_READ_CHARS], now_s):
        if 0 < found_s - now_s <= LONGEST_S:
            return max(now_ms + 1, round(found_s * 1000))
    return None


def _named(text: str, now_s: float) -> Iterator[float]:
    yield from map(_since_1970, _BAR.findall(text))
    for anchor in _ANCHOR.finditer(text):
        rest = text[anchor.end() : anchor.end() + _NEAR_CHARS]
        is_header = "after" in anchor[0].lower()
        lengths = _length(rest, now_s, may_be_bare=is_header)
        for found_s in chain(_absolute(rest), lengths):
            yield found_s
            return
        try:
            yield from _of_day(rest, now_s)
        except (ValueError, OverflowError, OSError):
            # No such day, hour or zone.
            continue


def _since_1970(digits: str) -> float:
    return int(digits[:10]) + int(digits[10:] or 0) / 1000


def _absolute(rest: str) -> Iterator[float]:
    """A number of seconds or milliseconds, or a date as ISO 8601 writes it."""
    if epoch := _EPOCH.match(rest):
        yield _since_1970(epoch[1])
    elif iso := _ISO.match(rest):
        date, clock, zone = iso.groups()
        zone = "+00:00" if zone in ("Z", "UTC") else zone or ""
        try:
            yield datetime.fromisoformat(f"{date}T{clock}{zone}").timestamp()
        except (ValueError, OverflowError, OSError):
            return


def _length(rest: str, now_s: float, *, may_be_bare: bool) -> Iterator[float]:
    """How long it takes: `20 minutes`, `1h2m3.5s`, or a bare number of seconds."""
    total_s, place = 0.0, 0
    while part := _PART.match(rest, place):
        unit = part[2].lower()
        known = "ms" if unit.startswith(("ms", "milli")) else unit[0]
        total_s += float(part[1]) * _UNITS[known]
        place = part.end()
    if place:
        yield now_s + total_s
    elif may_be_bare and (bare := _SECONDS.match(rest)):
        yield now_s + int(bare[1])


def _of_day(rest: str, now_s: float) -> Iterator[float]:
    """The next moment with this time of day, and on this day if one is named."""
    found = _CLOCK.match(rest)
    if found is None or not (found["minute"] or found["half"]):
        return
    zone = _zone(found["zone"])
    today = datetime.fromtimestamp(now_s, zone).replace(tzinfo=None)
    hour = int(found["hour"])
    if found["half"]:
        if not 1 <= hour <= 12:  # noqa: PLR2004 - as clocks have it
            return
        hour = hour % 12 + 12 * (found["half"].lower() == "p")
    at = today.replace(
        hour=hour,
        minute=int(found["minute"] or 0),
        second=int(found["second"] or 0),
        microsecond=0,
    )
    for moment in _days(found, at):
        moment_s = moment.replace(tzinfo=zone).timestamp()
        if moment_s > now_s - JUST_PASSED_S:
            # Now is the next millisecond: what is over is no end.
            yield max(moment_s, now_s + 0.001)
            return


def _days(found: re.Match[str], at: datetime) -> Iterator[datetime]:
    """The days that may be meant, the nearest first."""
    month, date = found["month"] or found["month2"], found["date"] or found["date2"]
    if month:
        number = _MONTHS.index(month[:3].lower()) + 1
        year = found["year"]
        years = [int(year.strip(" ,"))] if year else [at.year, at.year + 1]
        yield from (at.replace(year=y, month=number, day=int(date)) for y in years)
        return
    day = (found["day"] or "").lower()
    if day == "tomorrow":
        yield at + timedelta(days=1)
        return
    # Yesterday may have ended a minute ago.
    for ahead in range(-1, 9):
        later = at + timedelta(days=ahead)
        if day in ("", "today") or _DAYS[later.weekday()] == day[:3]:
            yield later


def _zone(name: str | None) -> tzinfo | None:
    """A zone by its name; None for that of this machine.

    Raises:
        ValueError: there is no such zone.
    """
    if name is None:
        return None
    if name.upper() in ("UTC", "GMT"):
        return UTC
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except KeyError:
        raise ValueError(name) from None
