"""Options that are times: `90`, `90s`, `5m`, `2h`, `1h30m`, `30d`; or since when."""

from argparse import ArgumentTypeError
from collections.abc import Callable

from bridge.config import LONGEST_S
from bridge.protocol.durations import parse_duration

DAY_S = 86_400.0
# Times are kept in milliseconds.
_SHORTEST_S = 0.001


def since(text: str) -> str:
    """The type of an option: a time ago, a day, or all."""
    from bridge.errors import InvalidRequest
    from bridge.metrics.days import since_ms

    try:
        since_ms(text, 0)
    except InvalidRequest as exc:
        raise ArgumentTypeError(exc.what.removeprefix("since: ")) from None
    return text


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
