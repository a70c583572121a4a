"""What a run of a flow came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bridge.api.run_steps import StepSeen, steps_of
from bridge.engine.view import asked_of, outcome_of, view
from bridge.protocol.claimed_commands import rests_on_evidence
from bridge.protocol.ids import RequestId

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.store.store import Store


@dataclass(frozen=True, slots=True)
class FlowResult:
    """What a run of a flow came to.

    Attributes:
        run: its id, for `hostbridge runs show`.
        name: the flow's.
        success: it went to its end, and no last step says that it failed.
        status: completed, failed, cancelled or paused.
        why: why it did not complete; empty if it did.
        text: what its last steps answered, as a text.
        answers: their whole answers.
        variables: what each step made that has a name for it, by that name; None for
            one that did not run.
        steps: each step, how it ended and why, in written order.
        degraded: a small model answered, or not the one wanted, without evidence.
        asked: how many agents were asked.
        duration_s: seconds from its beginning to its last change.
    """

    run: str
    name: str
    success: bool
    status: str
    why: str
    text: str
    answers: list[Any] = field(repr=False)
    variables: dict[str, Any] = field(repr=False)
    steps: list[StepSeen] = field(repr=False)
    degraded: bool
    asked: int
    duration_s: float


def result_of_run(store: Store, settings: Settings, run_id: str) -> FlowResult:
    """What a run came to, or how far it is."""
    with store.open() as opened:
        seen = view(opened, run_id)
        found = outcome_of(opened, seen)
        steps = [*steps_of(opened, settings, seen)]
        ends = [opened.find(RequestId(each)) for each in found.requests]
    responses = [end.response for end in ends if end and end.response]
    run = seen.run
    return FlowResult(
        run=run_id,
        name=run["name"],
        success=run["status"] == "completed" and not found.failed,
        status=run["status"],
        why=run["why"],
        text=found.text,
        answers=found.answers,
        variables=found.variables,
        steps=steps,
        degraded=any(r.degraded and not rests_on_evidence(r) for r in responses),
        asked=asked_of(run),
        duration_s=max(0, run["at"] - run["createdAt"]) / 1000,
    )
