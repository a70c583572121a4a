"""Type checks of what a program passes in, since Python makes none."""

from __future__ import annotations

import math
from contextlib import suppress

from bridge.errors import InvalidRequest


def check_text(what: str, value: object) -> None:
    """Check that it is text.

    Raises:
        InvalidRequest: it is something else.
    """
    if not isinstance(value, str):
        raise InvalidRequest(f"{what} {value!r:.60}: expected text")


def check_seconds(value: float, what: str = "timeout") -> float:
    """Return a number of seconds.

    Raises:
        InvalidRequest: it is something else.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    with suppress(OverflowError):
        if is_number and not math.isnan(value):
            return value
    raise InvalidRequest(f"{what} {value!r:.60}: expected a number of seconds")
