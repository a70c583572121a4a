"""When a run is over, for whoever would otherwise work on without looking up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.agent_loop.job import Job

# Who asks whether a request was cancelled looks at a file; a search asks at every one.
_ASKED_EVERY_S = 0.1


def stop_of(job: Job) -> Callable[[], bool]:
    """Whether the deadline of `job` has passed, or it was cancelled; cheap to ask."""
    asked_s = float("-inf")
    is_cancelled = False

    def is_over() -> bool:
        nonlocal asked_s, is_cancelled
        now_s = job.clock.monotonic_s()
        if now_s - asked_s >= _ASKED_EVERY_S:
            asked_s = now_s
            is_cancelled = is_cancelled or job.is_cancelled()
        return is_cancelled or now_s >= job.deadline_s

    return is_over
