"""Count the lines that run: the same on a slow machine and under load.

Lines of Python that this thread runs; what is done in C counts as the line that calls
it.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any


class _TooMany(BaseException):
    """No code under test catches this."""


class Count:
    """How many lines were run so far."""

    def __init__(self) -> None:
        self.lines = 0


@contextmanager
def at_most(lines: float) -> Iterator[Count]:
    """Fail once more lines than that were run inside."""
    count = Count()

    def trace(_frame: Any, event: str, _arg: Any) -> Any:
        count.lines += event == "line"
        if count.lines > lines:
            raise _TooMany
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    except _TooMany:
        raise AssertionError(f"more than {lines:,} lines of Python were run") from None
    finally:
        sys.settrace(before)


def lines_of(act: Callable[..., object], *args: Any) -> int:
    """How many lines a call runs."""
    with at_most(inf) as count:
        act(*args)
    return count.lines
