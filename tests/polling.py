"""Wait for something to happen."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    look: Callable[[], T | None], *, timeout_s: float = 180, what: str = "it"
) -> T:
    """Look until there is something to see."""
    deadline = time.monotonic() + timeout_s
    while not (seen := look()):
        assert time.monotonic() < deadline, f"{what} did not happen in {timeout_s} s"
        time.sleep(0.01)
    return seen
