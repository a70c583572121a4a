"""How something that was asked has ended. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from bridge.flow.filling import as_text
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from bridge.engine.run import Run

    # How it has ended, and why, where it is no success. A called run that is `paused`
    # has not ended, nor has an agent that `asks` its person something: once that is
    # `answered`, it is asked again.
    Fact = tuple[Literal["ok", "failed", "error", "paused", "asks", "answered"], str]

# Why a checkpoint has failed.
_REFUSED = "a person said no"
UNANSWERED = "nobody said yes in time"
_MAX_SAID = 200
# How often an agent may ask its person something at one visit.
MAX_QUESTIONS = 3


def refused(text: str) -> Fact:
    """That a person said no, and what they said beside it."""
    said = one_line(text, _MAX_SAID)
    has_reason = len(said.split()) > 1
    return "failed", f"{_REFUSED}: {said}" if has_reason else _REFUSED


def why_failed(arguments: Any) -> str:
    """Why a step `fail` has failed: the message that it is given."""
    said = arguments.get("message") if isinstance(arguments, dict) else arguments
    return as_text(said) or "it was to"


def is_persons(why: str) -> bool:
    """Whether a checkpoint has failed, perhaps in a flow that was called."""
    return _REFUSED in why or UNANSWERED in why


def called_failed(why: str) -> Fact:
    """That a flow that was called failed."""
    return "failed", f"the flow that it called failed: {why}"


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
            return called_failed(called["why"])
        case "cancelled":
            return "error", "the flow that it called was cancelled"
