"""What `validate` and `build` came to, as values."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bridge.engine.answers import Answers
from bridge.engine.view import asked_of, view
from bridge.errors import InvalidRequest
from bridge.flow.filling import as_text
from bridge.policy.condition import ConditionError
from bridge.validation.names import BUILD, BUILT, OUTCOME, VALIDATE, VERDICT
from bridge.validation.report import BuildOutcome, Validation, Verdict
from bridge.validation.words import verdict_of

if TYPE_CHECKING:
    from bridge.engine.run import Run
    from bridge.engine.view import RunView
    from bridge.store.store import Store


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build came to.

    Attributes:
        run: its id, for `hostbridge runs show`.
        status: completed, failed, cancelled or paused.
        why: why it did not complete; empty if it did.
        is_approved: every validator approved at last, or a person did.
        approved_by: validators or person; None if nobody approved.
        verdict: of the validators, at last; NEEDS_REVIEW if there is none.
        rounds: what the validators said to each round, the first one first.
        summary: what the builder said of its last round.
        said: what a person said at last, if one was asked.
        task: the task that what is left was handed over as, such as `#42`.
        branch: where the change is, if it was built in a worktree.
        worktree: the folder of that worktree, which stays until somebody removes it.
        asked: how many agents were asked.
        duration_s: seconds from its beginning to its last change.
    """

    run: str
    status: str
    why: str
    is_approved: bool
    approved_by: str | None
    verdict: Verdict
    rounds: tuple[Validation, ...] = field(repr=False)
    summary: str
    said: str | None
    task: str | None
    branch: str | None
    worktree: str | None
    asked: int
    duration_s: float


def kind_of(seen: RunView) -> str:
    """`validate` or `build`, if a run is one of them; otherwise empty."""
    kinds = {VERDICT: VALIDATE, OUTCOME: BUILD}
    tools = [
        detail["tool"]["name"]
        for detail in seen.details["details"].values()
        if "tool" in detail
    ]
    return next((kinds[each] for each in reversed(tools) if each in kinds), "")


def end_of(kind: str, found: Any) -> tuple[bool, str]:
    """Whether a run of this kind has come to a good end, and what it says of that.

    A change that is empty is neither approved nor is anything wrong with it.
    """
    if kind == BUILD:
        built = BuildOutcome.model_validate(found)
        last = built.rounds[-1]
        return built.is_approved, "\n".join(verdict_of(last))
    seen = Validation.model_validate(found)
    is_good = seen.verdict in (Verdict.APPROVED, Verdict.NOTHING)
    return is_good, "\n".join(verdict_of(seen))


def refuse_unread(store: Store, run_id: str) -> None:
    """Refuse a run whose scope was found to be none, so that nobody was asked.

    Raises:
        InvalidRequest: it is so; says why.
    """
    run = view(store, run_id).run
    entry = run["nodes"].get("change", {})
    if run["status"] == "failed" and entry.get("state") == "stopped":
        raise InvalidRequest(entry.get("why", ""))


def validation_of_run(store: Store, run_id: str) -> Validation:
    """What validators said in a run; of one that has no verdict, why it has none.

    Raises:
        InvalidRequest: it is no run of `validate`.
    """
    seen = view(store, run_id)
    _refuse_unless(VALIDATE, seen)
    if found := _output(store, seen.run):
        return Validation.model_validate(found)
    why = (_stands(seen.run),)
    return Validation(verdict=Verdict.NEEDS_REVIEW, reasons=why, run=run_id)


def build_of_run(store: Store, run_id: str) -> BuildResult:
    """What a build came to, or how far it is.

    Raises:
        InvalidRequest: it is no run of `build_and_validate`.
    """
    seen = view(store, run_id)
    _refuse_unless(BUILD, seen)
    run = seen.run
    found = _output(store, run)
    with store.state() as state:
        answers = Answers(state, run)
        outcome = _outcome(answers, found)
        built = run["vars"].get(BUILT)
        summary = ""
        tree: dict[str, Any] = {}
        with suppress(ConditionError):
            summary = as_text(answers.value(built)) if built else ""
            tree = answers.output("worktree") or {}
    rounds = outcome.rounds
    return BuildResult(
        run=run_id,
        status=run["status"],
        why=run["why"],
        is_approved=outcome.is_approved,
        approved_by=outcome.approved_by,
        verdict=rounds[-1].verdict if rounds else Verdict.NEEDS_REVIEW,
        rounds=rounds,
        summary=summary,
        said=outcome.said,
        task=outcome.task,
        branch=tree.get("branch"),
        worktree=tree.get("folder"),
        asked=asked_of(run),
        duration_s=max(0, run["at"] - run["createdAt"]) / 1000,
    )


def _refuse_unless(kind: str, seen: RunView) -> None:
    """Refuse a run of another kind, with the way to what it came to."""
    found = kind_of(seen)
    if found == kind:
        return
    run_id = seen.run["run"]
    ways = {
        BUILD: f"Bridge.build_result({run_id!r}) has what it came to",
        VALIDATE: f"Bridge.validation({run_id!r}) has what it came to",
    }
    what = f"a {found}" if found else "a run of a flow"
    way = ways.get(found, f"hostbridge runs show {run_id}")
    raise InvalidRequest(f"run {run_id} is {what}, not a {kind}", ways=(way,))


def _outcome(answers: Answers, found: Any) -> BuildOutcome:
    if found:
        return BuildOutcome.model_validate(found)
    from bridge.engine.build_tools import validations

    # Approved is only what has come to its end.
    return BuildOutcome(is_approved=False, rounds=tuple(validations(answers)))


def _output(store: Store, run: Run) -> Any:
    """The answer of a run that has completed."""
    if run["status"] != "completed":
        return None
    with store.state() as state, suppress(ConditionError):
        # What is lost says nothing for a change.
        (found,) = Answers(state, run).of_run()
        return found
    return None


def _stands(run: Run) -> str:
    why = f": {run['why']}" if run["why"] else ""
    return f"run {run['run']} is {run['status']}{why}"
