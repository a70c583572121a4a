"""The tools of `validate` and `build`: brief, verdict, outcome.

Each reads what the run knows, and answers that never change: called again after a kill,
it comes to the same. Only the answers of the validators that were asked count, each
known by the id of its request; no text in a change or in a report is read as one.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.change.change import change_of
from bridge.engine.run_ids import request_id
from bridge.flow.filling import as_text
from bridge.validation import words
from bridge.validation.aggregate import MAX_PATHS, validation_of
from bridge.validation.answers import no_report, report_of
from bridge.validation.escalation import next_of
from bridge.validation.names import ADVICE, BRIEF, LAST, OUTCOME, SAID, VERDICT
from bridge.validation.report import BuildOutcome, Validation, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bridge.change.change import Change
    from bridge.engine.answers import Answers
    from bridge.engine.run import Details, Run
    from bridge.flow.details import ChangeCall, ValidatorNode
    from bridge.validation.report import ValidatorReport


class Calling(NamedTuple):
    """The run that calls a tool, and when."""

    run: Run
    details: Details
    answers: Answers
    now_ms: int


_WRITTEN = "the files have changed while they were looked at"
_BESIDE = "ran commands in the project, which has files that are not in the change"
_APART = "ran commands in a checkout of what is staged, without files that git ignores"
_FILTERED = "these files were there as git keeps them, since no filter was run"


def _brief(caller: Calling, given: dict[str, Any]) -> Any:
    run, answers = caller.run, caller.answers
    rounds = validations(answers)
    prompt = words.brief(
        given["task"],
        number=_visit(run, "build"),
        rounds=given["rounds"],
        last=rounds[-1] if rounds else None,
        advice=_advice(answers),
    )
    return {"prompt": prompt}


def _advice(answers: Answers) -> list[tuple[bool, str]]:
    """What an architect and a person have said, and which of them was a person."""
    names = answers.run["vars"]
    return [
        (name == SAID, as_text(answers.value(names[name])))
        for name in (ADVICE, SAID)
        if name in names
    ]


def _verdict(caller: Calling, given: dict[str, Any]) -> Any:
    run, answers = caller.run, caller.answers
    seen = answers.output("change")
    call: ChangeCall = caller.details["details"]["change"]["change"]
    known = call["validators"]
    asked = [known[name] for name in seen["validators"]]
    takes_degraded = given["accept_degraded"]
    joined = seen.get("joined", {})
    asked_for = {n: first for first in joined for n in joined[first]["validators"]}
    reports = [
        _report(
            answers,
            name,
            known,
            asked=asked_for.get(name),
            takes_degraded=takes_degraded,
        )
        for name in seen["validators"]
    ]
    reports = [_placed(each, seen.get("folders", ())) for each in reports]
    reports += [no_report(name, why) for name, why in seen["unable"].items()]
    change = change_of(seen["change"])
    made = validation_of(
        change,
        reports,
        complexity=seen["complexity"],
        can_read=bool(asked) and all(each["canRead"] for each in asked),
        duration_s=max(0, caller.now_ms - run["nodes"]["change"].get("at", 0)) / 1000,
    ).with_(
        run=run["run"],
        readings=tuple(_readings(seen, known)),
        notes=tuple(_notes(seen, change, known)),
    )
    again = answers.output("again")
    if made.verdict is Verdict.APPROVED and not (again and again["isSame"]):
        written = ", ".join((again or {}).get("written", ()))
        why = f"{_WRITTEN}: {written}" if written else _WRITTEN
        made = made.with_(verdict=Verdict.NEEDS_REVIEW, reasons=(why,))
    output = {"validation": made.to_data(), "before": run["vars"].get(LAST)}
    if "rounds" not in given:
        return output
    rounds = [*validations(answers), made]
    task = given["task"]
    follows = next_of(
        made.verdict,
        is_last=_visit(run, "build") >= given["rounds"],
        escalate_to=given["escalate_to"],
        is_advised=ADVICE in run["vars"],
    )
    output["next"] = follows
    if follows == "architect":
        output["advise"] = words.ask_architect(task, rounds)
    if follows in ("person", "architect"):
        # Where the architect does not answer, the person is asked.
        output["question"] = words.ask_person(task, rounds)
    if follows == "task":
        output["task"] = words.as_task(task, rounds)
    return output


def _report(
    answers: Answers,
    name: str,
    known: Mapping[str, ValidatorNode],
    *,
    asked: str | None,
    takes_degraded: bool,
) -> ValidatorReport:
    """What a validator says; `asked` is who was asked for several, this one too."""
    run, node = answers.run, known[asked or name]["node"]
    response = answers.response(request_id(run, node))
    if response is None:
        why = run["nodes"].get(node, {}).get("why") or "it was not asked"
        return no_report(name, why)
    is_accepted = takes_degraded and response.degraded
    if is_accepted:
        response = response.with_(degraded=False)
    if asked is None:
        must_verify = known[name]["mustVerify"]
        found = report_of(name, response, must_verify=must_verify)
    else:
        from bridge.validation.together import reports_of

        (found,) = reports_of({name: known[name]["part"]}, response)
    return found.with_(degraded=True) if is_accepted else found


def _placed(report: ValidatorReport, folders: Iterable[str]) -> ValidatorReport:
    """A report whose places are relative, also where it names whole paths.

    `folders` are those that it may have been made in, the innermost first.
    """
    issues = (
        each.with_(file=_relative(each.file, folders)) if each.file else each
        for each in report.issues
    )
    return report.with_(issues=tuple(issues))


def _relative(file: str, folders: Iterable[str]) -> str:
    path = posixpath.normpath(file) if file.startswith("/") else ""
    for folder in folders:
        if path.startswith(f"{folder.rstrip('/')}/"):
            return path.removeprefix(f"{folder.rstrip('/')}/")
    return file


def _readings(
    seen: dict[str, Any], known: Mapping[str, ValidatorNode]
) -> Iterator[str]:
    """Who was asked together, and who was not although that was wanted."""
    for each in seen.get("joined", {}).values():
        yield f"{', '.join(each['validators'])}: asked together, in one reading"
    for name in seen["validators"]:
        if why := known[name].get("alone"):
            yield f"{name}: asked alone: {why}"


def _notes(
    seen: dict[str, Any], change: Change, known: Mapping[str, ValidatorNode]
) -> Iterator[str]:
    """That commands ran with files that are no part of the change, or without some."""
    names = [name for name in seen["validators"] if known[name]["runsCommands"]]
    who = ", ".join(names)
    if who and change.beside:
        yield f"{who}: {_BESIDE}: {change.beside}"
    if who and seen.get("folder"):
        yield f"{who}: {_APART}"
        if filtered := seen["filtered"]:
            more = len(filtered) - MAX_PATHS
            tail = f" and {more:,} more" if more > 0 else ""
            yield f"{who}: {_FILTERED}: {', '.join(filtered[:MAX_PATHS])}{tail}"


def _outcome(caller: Calling, _given: dict[str, Any]) -> Any:
    run, answers = caller.run, caller.answers
    # Made again, if it is lost.
    answers.output("verdict")
    rounds = validations(answers)
    last = rounds[-1]
    said = answers.output("person")
    has_agreed = run["nodes"].get("person", {}).get("state") == "ok"
    is_yes = has_agreed and _has_said_yes(run)
    is_approved = last.verdict is Verdict.APPROVED
    task = answers.output("task") if "task" in run["nodes"] else None
    made = BuildOutcome(
        is_approved=is_approved or is_yes,
        approved_by="validators" if is_approved else "person" if is_yes else None,
        rounds=tuple(rounds),
        said=said,
        task=task["id"] if task else None,
    )
    follows = "build" if has_agreed and not is_yes else "end"
    return made.to_data() | {"next": follows}


def _has_said_yes(run: Run) -> bool:
    """Whether the person said yes at this visit, and gave no advice."""
    said = run["said"].get(request_id(run, "person"))
    return said is not None and said.get("plain", False)


def _visit(run: Run, node: str) -> int:
    return run["nodes"].get(node, {}).get("visit", 1)


def validations(answers: Answers) -> list[Validation]:
    """The verdicts of the rounds so far, as far as they are kept."""
    found: list[Validation] = []
    asked = answers.run["vars"].get(LAST)
    while asked and (result := answers.result(asked)):
        found.insert(0, Validation.model_validate(result["output"]["validation"]))
        asked = result["output"]["before"]
    return found


TOOLS: Mapping[str, Callable[[Calling, dict[str, Any]], Any]] = {
    BRIEF: _brief,
    VERDICT: _verdict,
    OUTCOME: _outcome,
}
