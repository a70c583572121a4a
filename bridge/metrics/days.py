"""Days of the local time zone, and from when on something is looked at."""

from __future__ import annotations

import time
from datetime import date, datetime

from bridge.errors import InvalidRequest
from bridge.protocol.durations import parse_duration
from bridge.protocol.wording import quoted

ALL = "all"
# In every time zone days begin at a multiple of this, which is nine times 100 s.
_QUARTER_S, _PARTS = 900, 9


class Days(dict[bytes, str]):
    """The local day, such as `2026-11-27`, by hundreds of seconds since 1970.

    These are the digits of a time in milliseconds without the last five.
    """

    def __init__(self) -> None:
        super().__init__()
        self._of_quarters: dict[int, str] = {}

    def __missing__(self, digits: bytes) -> str:
        quarter = int(digits) // _PARTS
        day = self._of_quarters.get(quarter)
        if day is None:
            day = time.strftime("%Y-%m-%d", time.localtime(quarter * _QUARTER_S))
            self._of_quarters[quarter] = day
        self[digits] = day
        return day


def since_ms(text: str, now_ms: int) -> int:
    """When a time begins, in milliseconds since 1970, as people say it.

    `7d` or `24h` ago; on `2026-11-01`, as that day begins here; 0 for `all`.

    Raises:
        InvalidRequest: it says none of these.
    """
    said = text.strip() if isinstance(text, str) else ""
    if said.lower() == ALL:
        return 0
    try:
        length_s = parse_duration(said)
        if length_s is not None:
            return max(0, now_ms - int(length_s * 1000))
        first = datetime.combine(date.fromisoformat(said), datetime.min.time())
        return max(0, int(first.timestamp() * 1000))
    except (ValueError, OverflowError, OSError):
        raise InvalidRequest(
            f"since: expected a time such as 7d or 24h, a day such as 2026-11-01, or "
            f"all, got {quoted(text)}"
        ) from None
