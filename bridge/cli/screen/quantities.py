"""Shares, times, numbers and days as people read them. Pure."""

from __future__ import annotations

from datetime import datetime

NOTHING = "-"
_THOUSANDS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
_UNITS_MS = ((3_600_000, "h"), (60_000, "min"), (1_000, "s"))
# From here on the digits before the point are two.
_TEN = 9.95


def percent(share: float | None) -> str:
    """`97 %`; never 100 % of what is not all, nor 0 % of what is something."""
    if share is None:
        return NOTHING
    rounded = round(share * 100)
    if 0 < share < 1:
        rounded = min(99, max(1, rounded))
    return f"{rounded} %"


def took(ms: float | None) -> str:
    """A length of time in two digits or more: `340 ms`, `1.2 s`, `12 s`, `3.4 min`."""
    if ms is None:
        return NOTHING
    for unit_ms, name in _UNITS_MS:
        # What would be rounded to the next unit is shown in that.
        if ms >= unit_ms * 0.995:
            value = ms / unit_ms
            return f"{value:.1f} {name}" if value < _TEN else f"{value:.0f} {name}"
    return f"{ms:.0f} ms"


def number(count: int) -> str:
    """`950`, `1.2 k`, `54 k`, `1.2 M`: two digits or more of a large number."""
    for unit, name in _THOUSANDS:
        if count >= unit:
            value = count / unit
            return f"{value:.1f} {name}" if value < _TEN else f"{value:.0f} {name}"
    return f"{count}"


def moment(at_ms: int) -> str:
    """A time, milliseconds since 1970, in the local time zone: `2026-11-27 14:05`."""
    return f"{datetime.fromtimestamp(at_ms / 1000).astimezone():%Y-%m-%d %H:%M}"
