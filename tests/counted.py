"""Work that is counted: the same on a slow machine, and under load."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class _TooMany(BaseException):
    """No code under test catches this."""


@contextmanager
def at_most(lines: int) -> Iterator[None]:
    """Fail once this thread has run more lines of Python than that inside.

    What is done in C counts as the one line that calls it.
    """
    run = 0

    def trace(_frame: Any, event: str, _arg: Any) -> Any:
        nonlocal run
        run += event == "line"
        if run > lines:
            raise _TooMany
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    except _TooMany:
        raise AssertionError(f"more than {lines:,} lines of Python were run") from None
    finally:
        sys.settrace(before)
