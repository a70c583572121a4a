"""Whether the step of an active workflow has a say in an event: standard library only.

Runs under `python3 -EPS` where a sign says that a workflow is active in the session. It
allows a call by one file, of `bridge.store.step_states`; what the step refuses, or what
moves it, the full hook decides again, and says.

A workflow that cannot be read binds our own agents: they are refused. A user's own
calls pass, and the user is told.
"""

from __future__ import annotations

import os

from bridge.bound.call_notes import load
from bridge.bound.step_binding import MAX_BYTES, Binding
from bridge.policy import step_workflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge.policy.rule_set import Whose
    from bridge.policy.step_record import StepRecord

    Json = dict[str, Any]


class Bound(Binding):
    """The conversation whose step binds an event, with its variables."""

    __slots__ = ()

    def whose(self) -> Whose:
        """Its variables, with those that rules files declare."""
        from bridge.bound.rule_gate import whose_of

        known = load(f"{self.state}/rules/variables.json", MAX_BYTES) or {}
        return whose_of(self.state, self.fields, self.run, known.get("variables") or {})


def shell() -> Any:
    """The functions of conditions that read commands."""
    from bridge.bound.rule_gate import shell as functions

    return functions()


def has_say(event: str, state: str, fields: Json, run: Json | None) -> bool:
    """Whether the full hook must see a tool call, or its end, for the step's sake."""
    bound = Bound(state, fields, run)
    if event != "PreToolUse" and not bound.is_own:
        return False
    try:
        record = bound.record()
    except ValueError:
        # What the user does passes without us.
        return run is not None
    if record is None:
        return False
    try:
        if event != "PreToolUse":
            return step_workflow.concerns(record, bound.fields, bound.whose, shell)
        return _has_word(record, bound)
    except Exception:  # noqa: BLE001 - of any content: the full hook says why
        return True


def _has_word(record: StepRecord, bound: Bound) -> bool:
    """Whether a step refuses a call, or says something about it."""
    fields, whose = bound.fields, bound.whose
    return (
        step_workflow.refusal(record, fields, whose, shell) is not None
        or bool(step_workflow.warnings(record, fields, whose, shell))
        or (bound.is_own and bool(record.get("untold") or record.get("entering")))
    )


def begins(state: str, run: Json | None) -> bool:
    """Whether an agent of ours is to begin a workflow, and has not yet."""
    if run is None or not run.get("workflow") or run.get("nested"):
        return False
    stem = f"{state}/agents/{run.get('agentId')}.steps"
    return not os.path.lexists(stem) and not os.path.lexists(f"{stem}-ended")


def refusal(state: str, fields: Json) -> str | None:
    """Why the step refuses a call that is none of our agents'; None if it does not.

    Where nothing can be read, a user's own call passes.
    """
    bound = Bound(state, fields, None)
    try:
        record = bound.record()
    except ValueError:
        return None
    if record is None:
        return None
    try:
        return step_workflow.refusal(record, bound.fields, bound.whose, shell)
    except Exception:  # noqa: BLE001 - of any content, as above
        return None
