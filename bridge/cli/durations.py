"""Lengths of time as people type them: `90`, `90s`, `5m`, `2h`, `1h30m`, `30d`."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable

from bridge.config import LONGEST_S

_UNITS_S = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
DAY_S = 86_400.0
# Times are kept in milliseconds.
_SHORTEST_S = 0.001
_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_PARTS = "".join(rf"(?:{_NUMBER}{unit})?" for unit in _UNITS_S)


def parse_duration(text: str) -> float | None:
    """The seconds that `text` stands for; None if it is no length of time.

    A number alone is seconds. Units go from the largest to the smallest, each once.
    """
    if not text.isascii():
        return None
    if re.fullmatch(_NUMBER, text):
        return float(text)
    parts = re.fullmatch(_PARTS, text, re.I)
    if parts is None or not any(parts.groups()):
        return None
    units = zip(parts.groups(), _UNITS_S.values(), strict=True)
    return sum(float(number or 0) * unit_s for number, unit_s in units)


def duration(
    *, least_s: float | None = None, most_s: float = LONGEST_S
) -> Callable[[str], float]:
    """The type of an option: a length of time, in seconds.

    It is at least `least_s`, or more than 0.
    """
    bounds = "more than 0 and" if least_s is None else f"at least {least_s:g}s,"

    def seconds(text: str) -> float:
        value_s = parse_duration(text.strip())
        shortest_s = _SHORTEST_S if least_s is None else least_s
        if value_s is not None and shortest_s <= value_s <= most_s:
            return value_s
        raise ArgumentTypeError(
            f"expected a time such as 90s, 5m or 1h30m, {bounds} at most "
            f"{most_s / DAY_S:g}d, got {text!r}"
        )

    return seconds
