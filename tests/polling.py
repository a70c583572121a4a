"""Wait for something to happen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
