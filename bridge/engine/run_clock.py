"""The times of a run, on the wall clock as it is now, and whether its own is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.protocol.request import Uptime
from bridge.store.clock import uptime

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.engine.facts import Fact
    from bridge.engine.run import Entry, Run
    from bridge.store.state import State

# A request that has to end with its run may end so much earlier.
_CLOSE_MS = 1000


def nodes_now(run: Run, state: State) -> dict[str, Entry]:
    """What is known of the nodes, their times on the wall clock as it is now."""
    then, known = run["uptime"], run["nodes"]
    timed = [
        name
        for name in run["open"]
        if "until" in known[name] or "deadline" in known[name]
    ]
    if then is None or not timed:
        return known
    now = uptime(state.clock)
    set_ms = Uptime.model_validate(then).set_since(run["at"], state.now_ms(), now)
    if not set_ms:
        return known
    moved: dict[str, Entry] = {}
    for name in timed:
        entry = moved[name] = known[name].copy()
        entry["at"] += set_ms
        if "until" in entry:
            entry["until"] += set_ms
        if "deadline" in entry:
            entry["deadline"] += set_ms
    return {**known, **moved}


def until_now(run: Run, state: State) -> int | None:
    """When a run has to end, on the wall clock as it is now."""
    until, then = run["until"], run["uptime"]
    if until is None or then is None:
        return until
    now = uptime(state.clock)
    return until + Uptime.model_validate(then).set_since(run["at"], state.now_ms(), now)


def is_over(run: Run, now_ms: int, facts: Mapping[str, Fact]) -> bool:
    """Whether the time of a run is over, or has just ended what it asked."""
    if run["until"] is None:
        return False
    is_cut = any(why.startswith("timeout: ") for _, why in facts.values())
    return now_ms >= run["until"] - (_CLOSE_MS if is_cut else 0)
