"""A validation as SARIF 2.1.0, for editors and CI. Pure.

The rules are the validators, and what of theirs an issue names as its rule. A result is
an issue, or, where a validator lists none, a check that did not pass. What is approved
has no result. Whatever else keeps a change from being approved (a validator that gave
no verdict, an approval in doubt) is a notification, and then the run was not
successful: no result does not mean that all is well.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0; GitHub,
"SARIF support for code scanning".
"""

import posixpath
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from bridge.protocol.digest import sha256_of
from bridge.protocol.wording import shortened, squeezed
from bridge.validation.report import (
    Issue,
    Severity,
    Validation,
    ValidatorReport,
    Verdict,
)

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
# As many as GitHub shows of one file.
MAX_RESULTS = 5000
_MAX_CHARS = 4000
_LATEST_LINE = 2**31 - 1
_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
}


def sarif_of(validation: Validation, *, version: str) -> dict[str, Any]:
    """The SARIF log, as decoded JSON. `version` is that of hostbridge."""
    found = [
        (report.validator, issue)
        for report in validation.reports
        for issue in _issues(report)
    ]
    asked = [report.validator for report in validation.reports]
    ids = list(dict.fromkeys([*asked, *(_rule(name, each) for name, each in found)]))
    places = _Places(validation.paths)
    rules = [
        {"id": each, "shortDescription": _text(f"What {each} says")} for each in ids
    ]
    results = [
        _result(_rule(name, issue), ids, issue, places)
        for name, issue in found[:MAX_RESULTS]
    ]
    run = {
        "tool": {"driver": {"name": "hostbridge", "version": version, "rules": rules}},
        "automationDetails": {"id": "hostbridge/validate/"},
        "invocations": [_invocation(validation, lost=len(found) - len(results))],
        "originalUriBaseIds": {ROOT: {"description": _text("the project")}},
        "results": results,
        "properties": {
            "verdict": str(validation.verdict),
            "scope": validation.scope,
            "complexity": validation.complexity,
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _issues(report: ValidatorReport) -> Sequence[Issue]:
    """What a validator objects to, as issues."""
    if report.issues or report.verdict is Verdict.APPROVED:
        return report.issues
    is_rejected = report.verdict is Verdict.REJECTED
    severity = Severity.ERROR if is_rejected else Severity.WARNING
    words = [
        f"{check.name}: {check.detail or 'it did not pass'}"
        for check in report.checks
        if not check.passed
    ]
    if not words and not report.doubts:
        words = [report.summary or f"{report.verdict}, without a reason"]
    return [Issue(severity=severity, message=each) for each in words]


def _rule(validator: str, issue: Issue) -> str:
    return f"{validator}/{issue.rule}" if issue.rule else validator


def _result(
    rule: str, ids: Sequence[str], issue: Issue, places: "_Places"
) -> dict[str, Any]:
    location = places.of(issue)
    uri = location["physicalLocation"]["artifactLocation"]["uri"] if location else ""
    words = f"{rule}\0{uri}\0{squeezed(issue.message)}"
    return {
        "ruleId": rule,
        "ruleIndex": ids.index(rule),
        "level": _LEVELS[issue.severity],
        "message": _text(issue.message),
        "locations": [location] if location else [],
        # Without the line: what stands above an issue may move it.
        "partialFingerprints": {"hostbridgeIssue/v1": sha256_of(words.encode())},
    }


class _Places:
    """Where issues are, as SARIF has it: never outside the project."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._first = paths[0] if paths else None

    def of(self, issue: Issue) -> dict[str, Any] | None:
        """The location of an issue; one without a file is at the first that changed.

        GitHub refuses a result without a location.
        """
        path = self._path(issue.file or "")
        where = path or self._first
        if where is None:
            return None
        place: dict[str, Any] = {
            "artifactLocation": {"uri": quote(where), "uriBaseId": ROOT}
        }
        if path and issue.line is not None and issue.line <= _LATEST_LINE:
            place["region"] = {"startLine": issue.line}
        return {"physicalLocation": place}

    def _path(self, file: str) -> str | None:
        """A path in the project; None if it leads elsewhere."""
        path = posixpath.normpath(file) if file else "."
        is_outside = path.startswith(("/", "../")) or path in (".", "..")
        return None if is_outside or "\0" in path else path


def _invocation(validation: Validation, *, lost: int) -> dict[str, Any]:
    """How the run went: successful only if its results say all there is to say."""
    doubts = [
        _notification(report, doubt)
        for report in validation.reports
        for doubt in report.doubts
    ]
    is_said = validation.verdict in (Verdict.APPROVED, Verdict.NOTHING) or any(
        report.verdict is validation.verdict for report in validation.reports
    )
    more = [] if is_said else list(validation.reasons)
    if lost > 0:
        more.append(f"{lost:,} more issues are not in this file")
    errors = [{"level": "error", "message": _text(each)} for each in more]
    said = (*validation.left_out, *validation.notes)
    notes = [{"level": "note", "message": _text(each)} for each in said]
    return {
        "executionSuccessful": not (doubts or errors or validation.left_out),
        "toolExecutionNotifications": [*doubts, *errors, *notes],
    }


def _notification(report: ValidatorReport, doubt: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "level": "error" if report.said is None else "warning",
        "message": _text(f"{report.validator}: {doubt}"),
        "associatedRule": {"id": report.validator},
    }
    if report.code is not None:
        found["descriptor"] = {"id": report.code}
    return found


def _text(text: str) -> dict[str, str]:
    """A message: an agent's words, in which nothing becomes a link."""
    cut = shortened(text.strip() or "(nothing was said)", _MAX_CHARS)
    return {"text": cut.replace("](", "\\](")}
