"""When a limit is over, according to the words of a refusal.

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
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}

# What comes before a time that is the end of a limit.
_ANCHOR = re.compile(
    r"(?:\b(?:resets?|resetting|try again|retry(?:[ -]after)?|available|until)\b"
    r"|\|(?=\s*[0-9]{10}))"
    r"[\s:=·∙\"']*(?:(?:again|at|on|in|after|is)\b[\s:=]*)*",
    re.I,
)
_EPOCH = re.compile(r"([0-9]{10})([0-9]{3})?\b")
_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)"
    r"\s*(Z\b|UTC\b|[+-][0-9]{2}:?[0-9]{2})?"
)
_PART = re.compile(
    r"([0-9]{1,7}(?:\.[0-9]{1,6})?)\s*(?:(ms|milliseconds?)"
    r"|(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d))"
    r"(?![a-z])(?:[\s,]|and)*",
    re.I,
)
_SECONDS = re.compile(r"([0-9]{1,7})(?:\.[0-9]+)?(?=$|[\s,;.)\]}\"'])")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*\.?"
_CLOCK = re.compile(
    rf"(?:(?P<day>today|tomorrow|(?:{'|'.join(_DAYS)})[a-z]*\.?),?\s+)?"
    rf"(?:(?:(?P<month>{_MONTH})\s+(?P<date>[0-9]{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<date2>[0-9]{{1,2}})\s+(?P<month2>{_MONTH}))"
    r",?\s*(?:(?P<year>[0-9]{4})\b,?\s*)?)?"
    r"(?:at\s+)?"
    r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2}))?(?::(?P<second>[0-9]{2}))?"
    r"\s*(?P<half>[ap])?(?(half)\.?m\b\.?)"
    r"(?:\s*\(?(?P<zone>UTC|GMT|[A-Z][A-Za-z]+(?:/[A-Za-z0-9_+-]+){1,2})\b)?",
    re.I,
)


def named_time(text: str, now_ms: int) -> int | None:
    """The first time after now that the words name as the end of a limit.

    Both are in milliseconds since 1970. None without such a time, or if it has passed
    or is more than `LONGEST_S` away. A time of day is the next such moment; if it has
    passed by less than `JUST_PASSED_S`, that is now, not tomorrow.
    """
    now_s = now_ms / 1000
    for anchor in _ANCHOR.finditer(text[:_READ_CHARS]):
        rest = text[anchor.end() : anchor.end() + _NEAR_CHARS]
        is_header = "after" in anchor[0].lower()
        try:
            found_s = _moment(rest, now_s, is_header=is_header)
        except (ValueError, KeyError, OverflowError, OSError):
            # No such hour, day or zone.
            continue
        if 0 < found_s - now_s <= LONGEST_S:
            return max(now_ms + 1, round(found_s * 1000))
    return None


def _moment(rest: str, now_s: float, *, is_header: bool) -> float:
    """The time that the words begin with, in seconds since 1970; 0 for none."""
    if epoch := _EPOCH.match(rest):
        return int(epoch[1]) + int(epoch[2] or 0) / 1000
    if iso := _ISO.match(rest):
        zone = (iso[2] or "").replace("UTC", "Z")
        return datetime.fromisoformat(iso[1] + zone).timestamp()
    length_s, place = 0.0, 0
    while part := _PART.match(rest, place):
        length_s += float(part[1]) * (_UNITS_S[part[3][0].lower()] if part[3] else 1e-3)
        place = part.end()
    if place:
        return now_s + length_s
    if is_header and (bare := _SECONDS.match(rest)):
        return now_s + int(bare[1])
    clock = _CLOCK.match(rest)
    return _next(clock, now_s) if clock and (clock["minute"] or clock["half"]) else 0


def _next(clock: re.Match[str], now_s: float) -> float:
    """The next moment with this time of day, and on this day if one is named."""
    zone = _zone(clock["zone"])
    hour = int(clock["hour"])
    if clock["half"]:
        if not 1 <= hour <= 12:  # noqa: PLR2004 - as clocks have it
            return 0
        hour = hour % 12 + 12 * (clock["half"].lower() == "p")
    at = datetime.fromtimestamp(now_s, zone).replace(
        hour=hour,
        minute=int(clock["minute"] or 0),
        second=int(clock["second"] or 0),
        microsecond=0,
        tzinfo=None,
    )
    for day in _days(clock, at):
        moment_s = day.replace(tzinfo=zone).timestamp()
        if moment_s > now_s - JUST_PASSED_S:
            # Now is the next millisecond: what is over is no end.
            return max(moment_s, now_s + 0.001)
    return 0


def _days(clock: re.Match[str], at: datetime) -> Iterator[datetime]:
    """The days that may be meant, from yesterday on: it may have ended a minute ago."""
    named = (clock["day"] or "").lower()[:3]
    month = (clock["month"] or clock["month2"] or "").lower()[:3]
    date, year = clock["date"] or clock["date2"], clock["year"]
    for ahead in range(-1, 9):
        day = at + timedelta(days=ahead)
        if month:
            is_it = (month, int(date)) == (_MONTHS[day.month - 1], day.day)
            is_it &= year in (None, str(day.year))
        elif named == "tom":
            is_it = ahead == 1
        else:
            is_it = named in ("", "tod", _DAYS[day.weekday()])
        if is_it:
            yield day


def _zone(name: str | None) -> tzinfo | None:
    """A zone by its name; None for that of this machine."""
    if name is None:
        return None
    if name.upper() in ("UTC", "GMT"):
        return UTC
    import zoneinfo

    return zoneinfo.ZoneInfo(name)
