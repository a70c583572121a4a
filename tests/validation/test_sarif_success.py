"""Whether a log in SARIF says that its run was a success: never a false clean."""

from __future__ import annotations

from typing import Any

import pytest
from sariflogs import issue, rejected, run_of, validation
from validatorworld import APPROVED

from bridge.validation.answers import no_report, read, weighed
from bridge.validation.sarif import MAX_RESULTS


def test_an_approval_has_no_result():
    run = run_of(validation(weighed(read("v", APPROVED)), verdict="APPROVED"))

    assert run["results"] == []
    assert run["invocations"][0] == {
        "executionSuccessful": True,
        "toolExecutionNotifications": [],
    }


@pytest.mark.parametrize(
    ("report", "level", "text", "code"),
    [
        (
            no_report("v", "it took too long", code="timeout"),
            "error",
            "v: it took too long",
            "timeout",
        ),
        (
            weighed(read("v", {**APPROVED, "checks": []})),
            "warning",
            "v: it names nothing that it looked at",
            None,
        ),
        (
            weighed(read("v", APPROVED).with_(degraded=True)),
            "warning",
            "v: it comes from a small model, or not from the one wanted",
            None,
        ),
    ],
)
def test_who_gave_no_verdict_is_a_failure_of_the_run(report, level, text, code):
    """A log without results would look as if all were well."""
    run = run_of(validation(report, verdict="NEEDS_REVIEW"))

    told: dict[str, Any] = {
        "level": level,
        "message": {"text": text},
        "associatedRule": {"id": "v"},
    }
    if code:
        told["descriptor"] = {"id": code}
    assert run["invocations"] == [
        {"executionSuccessful": False, "toolExecutionNotifications": [told]}
    ]


@pytest.mark.parametrize("verdict", ["APPROVED", "REJECTED"])
def test_what_was_not_read_whole_is_no_success_whatever_the_verdict(verdict):
    said = APPROVED if verdict == "APPROVED" else APPROVED | {"verdict": "REJECTED"}
    left_out = ("Left out, binary: x",)
    run = run_of(
        validation(weighed(read("v", said)), verdict=verdict, left_out=left_out)
    )

    assert not run["invocations"][0]["executionSuccessful"]


def test_a_note_is_no_failure_of_the_run():
    note = "v: ran commands in the project, which has files that are not in the change"
    report = weighed(read("v", APPROVED))
    run = run_of(validation(report, verdict="APPROVED", notes=(note,)))

    told = {"level": "note", "message": {"text": note}}
    assert run["invocations"] == [
        {"executionSuccessful": True, "toolExecutionNotifications": [told]}
    ]


def test_what_no_validator_was_shown_fails_the_run():
    run = run_of(
        validation(
            weighed(read("v", APPROVED)),
            verdict="NEEDS_REVIEW",
            reasons=("the validators were not shown the whole change",),
            left_out=("Left out, binary: x",),
        )
    )

    (invocation,) = run["invocations"]
    told = invocation["toolExecutionNotifications"]
    assert not invocation["executionSuccessful"]
    assert [(each["level"], each["message"]["text"]) for each in told] == [
        ("error", "the validators were not shown the whole change"),
        ("note", "Left out, binary: x"),
    ]


def test_too_many_issues_are_told():
    many = tuple(issue(str(number)) for number in range(MAX_RESULTS + 2))
    run = run_of(validation(rejected(*many), verdict="REJECTED"))

    assert len(run["results"]) == MAX_RESULTS
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    told = invocation["toolExecutionNotifications"]
    assert told[0]["message"]["text"] == "2 more issues are not in this file"
