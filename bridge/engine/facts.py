"""How something that was asked has ended. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bridge.engine.run import Run

    # How it has ended, and why, where it is no success. A called run that is `paused`
    # has not ended, nor has an agent that `asks` its person something: once that is
    # `answered`, it is asked again.
    Fact = tuple[Literal["ok", "failed", "error", "paused", "asks", "answered"], str]

# Why a checkpoint has failed.
REFUSED = "a person said no"
UNANSWERED = "nobody said yes in time"
# How often an agent may ask its person something at one visit.
MAX_QUESTIONS = 3


def fact_of_run(called: Run) -> Fact | None:
    """How a run that was called has ended; None if it goes on."""
    match called["status"]:
        case "running":
            return None
        case "paused":
            return "paused", called["why"]
        case "completed":
            return "ok", ""
        case "failed":
            return "failed", f"the flow that it called failed: {called['why']}"
        case "cancelled":
            return "error", "the flow that it called was cancelled"
