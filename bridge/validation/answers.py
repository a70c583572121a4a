"""The report of a validator, read from the response to its request. Pure.

The form is that of the built-in validators: `verdict`, `summary`, `checks`, `issues`.
An `AgentOutput` is read as well: its status is the verdict, its evidence the checks.
Whatever else an answer lacks is a doubt, and with a doubt nothing is approved.
"""

import re
from typing import Any

from bridge.protocol.claimed_commands import rests_on_evidence
from bridge.protocol.response import Response
from bridge.protocol.status import Status
from bridge.protocol.wording import quoted
from bridge.validation.report import Check, Issue, Severity, ValidatorReport, Verdict

# What a status of AgentOutput says of the change.
OF_STATUS = {
    "success": Verdict.APPROVED,
    "partial": Verdict.NEEDS_REVIEW,
    "blocked": Verdict.NEEDS_REVIEW,
    "failed": Verdict.REJECTED,
}
_WORDS = {str(each): each for each in Verdict if each is not Verdict.NOTHING}
# A file with its line, as compilers write it.
_PLACED = re.compile(r"(.+?):([1-9]\d{0,8})(?::\d+)?")
# From the best to the worst.
ORDER = (Verdict.APPROVED, Verdict.NEEDS_REVIEW, Verdict.REJECTED)


def report_of(
    validator: str, response: Response, *, must_verify: bool = False
) -> ValidatorReport:
    """What a validator says, and what that counts for.

    With `must_verify`, as its definition has it, it approves only with evidence of a
    command that was seen to succeed.
    """
    known: dict[str, Any] = {
        "degraded": response.degraded,
        "by_hand": response.route == "manual",
        "verified": _is_verified(response, must_verify=must_verify),
        "request_id": response.request_id,
        "duration_s": response.duration / 1000,
    }
    failure = response.error
    if response.status is not Status.COMPLETED:
        words = failure.message if failure else "it did not answer"
        code = failure.code if failure else str(response.status)
        return no_report(validator, words, code=code, **known)
    report = read(validator, response.parsed_output).with_(**known)
    if failure is not None and failure.code != "agent_failed":
        report = report.with_(code=failure.code)
    return weighed(report, must_verify=must_verify)


def no_report(
    validator: str, why: str, *, code: str | None = None, **known: Any
) -> ValidatorReport:
    """The report of a validator that said nothing, with the reason."""
    return ValidatorReport(
        validator=validator, summary=why, doubts=(why,), code=code, **known
    )


def read(validator: str, answer: Any) -> ValidatorReport:
    """What a valid answer says; `verdict` is what it says, not yet weighed."""
    value = answer if isinstance(answer, dict) else {}
    said, doubts = _said(value)
    checks, lost_checks = _checks(value)
    issues, lost_issues = _issues(value)
    if lost := lost_checks + lost_issues:
        doubts = [*doubts, f"{lost} of its checks and issues cannot be read"]
    return ValidatorReport(
        validator=validator,
        said=said,
        verdict=said or Verdict.NEEDS_REVIEW,
        summary=_text(value.get("summary")),
        checks=tuple(checks),
        issues=tuple(issues),
        doubts=tuple(doubts),
    )


def weighed(report: ValidatorReport, *, must_verify: bool = False) -> ValidatorReport:
    """The report with what its verdict counts for: a doubtful approval does not."""
    doubts = list(report.doubts)
    if report.said is Verdict.APPROVED:
        doubts += _doubts(report, must_verify=must_verify)
    is_lower = doubts and report.verdict is Verdict.APPROVED
    verdict = Verdict.NEEDS_REVIEW if is_lower else report.verdict
    return report.with_(verdict=verdict, doubts=tuple(doubts))


def _doubts(report: ValidatorReport, *, must_verify: bool) -> list[str]:
    """Why an approval does not count."""
    failed = [check.name for check in report.checks if not check.passed]
    errors = [each for each in report.issues if each.severity is Severity.ERROR]
    found = {
        f"its request failed: {report.code}": report.code is not None,
        "it comes from a small model, or not from the one wanted": report.degraded,
        "it was answered by hand": report.by_hand,
        "no command was seen to succeed": must_verify and not report.verified,
        "it names nothing that it looked at": not report.checks,
        f"it lists {len(errors)} {'error' if len(errors) == 1 else 'errors'}": (
            bool(errors)
        ),
        f"a check did not pass: {''.join(failed[:1])}": bool(failed),
    }
    return [why for why, is_so in found.items() if is_so]


def _is_verified(response: Response, *, must_verify: bool) -> bool:
    """Whether a command was seen to succeed.

    On these routes nothing passed for an answer without, if that was demanded; a person
    is not asked for evidence.
    """
    judged = must_verify and response.success and response.route != "manual"
    return judged or rests_on_evidence(response)


def _said(value: dict[str, Any]) -> tuple[Verdict | None, list[str]]:
    """The verdict, and doubts about it; of two, the worse."""
    found: list[Verdict] = []
    doubts: list[str] = []
    if "verdict" in value:
        word = value["verdict"]
        verdict = _WORDS.get(word) if isinstance(word, str) else None
        if verdict is None:
            expected = ", ".join(_WORDS)
            doubts.append(f"its verdict is {quoted(word)}, none of {expected}")
        found.append(verdict or Verdict.NEEDS_REVIEW)
    status = value.get("status")
    if isinstance(status, str) and status in OF_STATUS:
        found.append(OF_STATUS[status])
    if not found:
        return None, ["its answer has neither a verdict nor a status of AgentOutput"]
    return max(found, key=ORDER.index), doubts


def _checks(value: dict[str, Any]) -> tuple[list[Check], int]:
    """The checks, those in the form of evidence too, and how many are unreadable."""
    found, lost = [], 0
    for item in _items(value, "checks"):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not isinstance(item.get("passed"), bool):
            lost += 1
            continue
        detail = _text(item.get("detail"))
        found.append(Check(name=name, passed=item["passed"], detail=detail))
    has_checks = bool(found)
    for item in _items(value, "evidence"):
        passed = item.get("passed") if isinstance(item, dict) else None
        # What did not pass counts beside checks, too.
        if passed is False or (passed is True and not has_checks):
            name = _text(item.get("command") or item.get("type"))
            detail = _text(item.get("content"))
            found.append(Check(name=name, passed=passed, detail=detail))
    return found, lost


def _issues(value: dict[str, Any]) -> tuple[list[Issue], int]:
    found, lost = [], 0
    for item in _items(value, "issues"):
        try:
            fields = {"message": item} if isinstance(item, str) else dict(item)
            known = {name: fields[name] for name in Issue.fields if name in fields}
            if placed := _PLACED.fullmatch(known.get("file") or ""):
                known |= {"file": placed[1], "line": known.get("line", int(placed[2]))}
            found.append(Issue.model_validate({"severity": "warning", **known}))
        except (TypeError, ValueError):
            lost += 1
    return found, lost


def _items(value: dict[str, Any], name: str) -> list[Any]:
    """A list; what stands alone where one belongs is its only item."""
    items = value.get(name) or []
    return items if isinstance(items, list) else [items]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
