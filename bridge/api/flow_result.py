"""What a run of a flow came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.api.run_steps import StepSeen, steps_of
from bridge.api.validation_result import end_of, kind_of
from bridge.engine.answers import Answers
from bridge.engine.facts import fact_of
from bridge.engine.view import asked_of, view
from bridge.flow.filling import as_text
from bridge.policy.condition import ConditionError
from bridge.protocol.claimed_commands import rests_on_evidence
from bridge.protocol.ids import RequestId

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.engine.view import RunView
    from bridge.store.store import Store


@dataclass(frozen=True, slots=True)
class FlowResult:
    """What a run of a flow came to.

    Attributes:
        run: its id, for `hostbridge runs show`.
        name: the flow's.
        success: it went to its end, and no last step says that it failed; of a change
            that was looked at, it was approved, or empty.
        status: completed, failed, cancelled or paused.
        why: why it did not complete, or what is lost of it; empty otherwise.
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


class _Said(NamedTuple):
    """What the last steps answered, as texts and whole, and the variables."""

    texts: list[str]
    wholes: list[Any]
    variables: dict[str, Any]


def _said(answers: Answers, seen: RunView) -> _Said:
    """What a run has answered so far.

    Raises:
        ConditionError: one of them is lost.
    """
    run = seen.run
    texts = [as_text(answers.value(each)) for each in run["out"]]
    wholes = answers.of_run()
    if "outputs" in seen.plan:
        texts = [as_text(each) for each in wholes]
    made = [node["var"] for node in seen.plan["nodes"].values() if "var" in node]
    known = run["vars"]
    variables = {n: answers.value(known[n]) if n in known else None for n in made}
    return _Said(texts, wholes, variables)


def result_of_run(store: Store, settings: Settings, run_id: str) -> FlowResult:
    """What a run came to, or how far it is; raises as `view`."""
    with store.open() as opened:
        return result_of(opened, settings, view(opened, run_id))


def result_of(store: Store, settings: Settings, seen: RunView) -> FlowResult:
    """What a run that is looked at came to, or how far it is."""
    run = seen.run
    steps = [*steps_of(store, settings, seen)]
    ends = [store.find(RequestId(each)) for each in seen.requests()]
    responses = [end.response for end in ends if end and end.response]
    with store.state() as state:
        answers = Answers(state, run)
        last = [answers.response(each) for each in run["out"] if "-" in each]
        why, said = run["why"], _Said([], [], {})
        try:
            said = _said(answers, seen)
        except ConditionError as exc:
            why = why or exc.message
    texts = said.texts
    has_failed = why != run["why"] or any(e and fact_of(e)[0] != "ok" for e in last)
    if run["status"] == "completed" and said.wholes and (kind := kind_of(seen)):
        is_good, text = end_of(kind, said.wholes[0])
        has_failed, texts = not is_good, [text]
    return FlowResult(
        run=run["run"],
        name=run["name"],
        success=run["status"] == "completed" and not has_failed,
        status=run["status"],
        why=why,
        text="\n\n".join(texts),
        answers=said.wholes,
        variables=said.variables,
        steps=steps,
        degraded=any(r.degraded and not rests_on_evidence(r) for r in responses),
        asked=asked_of(run),
        duration_s=max(0, run["at"] - run["createdAt"]) / 1000,
    )
