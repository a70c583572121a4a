"""Whether a log in SARIF says that its run was a success: never a false clean."""

import pytest
from sariflogs import issue, logged, rejected, told
from validatorworld import APPROVED

from bridge.validation.answers import no_report, read, weighed
from bridge.validation.sarif import MAX_RESULTS

GOOD = weighed(read("v", APPROVED))
LATE = no_report("v", "it was late", code="timeout")
EMPTY = weighed(read("v", {**APPROVED, "checks": []}))
SMALL = weighed(read("v", APPROVED).with_(degraded=True))


def test_an_approval_has_no_result():
    run = logged(GOOD, verdict="APPROVED")

    assert (run["results"], told(run, is_success=True)) == ([], [])


@pytest.mark.parametrize(
    ("report", "code", "text"),
    [
        (LATE, "timeout", "it was late"),
        (EMPTY, None, "it names nothing that it looked at"),
        (SMALL, None, "it comes from a small model, or not from the one wanted"),
    ],
)
def test_who_gave_no_verdict_is_a_failure_of_the_run(report, code, text):
    """A log without results would look as if all were well."""
    run = logged(report, verdict="NEEDS_REVIEW")

    of_rule = {"message": {"text": f"v: {text}"}, "associatedRule": {"id": "v"}}
    of_code = {"level": "error", "descriptor": {"id": code}}
    how = of_code if code else {"level": "warning"}
    assert told(run, is_success=False) == [how | of_rule]


@pytest.mark.parametrize("verdict", ["APPROVED", "REJECTED"])
def test_what_was_not_read_whole_is_no_success_whatever_the_verdict(verdict):
    report = weighed(read("v", APPROVED | {"verdict": verdict}))

    run = logged(report, verdict=verdict, left_out=("Left out, binary: x",))

    assert told(run, is_success=False)


def test_a_note_is_no_failure_of_the_run():
    note = "v: ran commands in the project, which has files that are not in the change"
    run = logged(GOOD, verdict="APPROVED", notes=(note,))

    assert told(run, is_success=True) == [{"level": "note", "message": {"text": note}}]


def test_what_no_validator_was_shown_fails_the_run():
    why, what = "the validators were not shown the whole change", "Left out, binary: x"
    more = {"reasons": (why,), "left_out": (what,)}

    run = logged(GOOD, verdict="NEEDS_REVIEW", **more)

    assert told(run, is_success=False) == [
        {"level": "error", "message": {"text": why}},
        {"level": "note", "message": {"text": what}},
    ]


def test_too_many_issues_are_told():
    many = tuple(issue(str(number)) for number in range(MAX_RESULTS + 2))
    run = logged(rejected(*many), verdict="REJECTED")

    assert len(run["results"]) == MAX_RESULTS
    first, *_ = told(run, is_success=False)
    assert first["message"]["text"] == "2 more issues are not in this file"
