"""Options that are lengths of time: `90`, `90s`, `5m`, `2h`, `1h30m`, `30d`."""

from argparse import ArgumentTypeError
from collections.abc import Callable

from bridge.config import LONGEST_S
from bridge.protocol.durations import parse_duration

DAY_S = 86_400.0
# Times are kept in milliseconds.
_SHORTEST_S = 0.001


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
