"""What validators say, and what follows from it: a doubt is never an approval."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from validatorworld import response

from bridge.change.change import Change, ChangedFile
from bridge.change.scope import Scope
from bridge.protocol.response import Failure, Response
from bridge.protocol.status import Stage
from bridge.validation.aggregate import decide, validation_of
from bridge.validation.answers import no_report, read, report_of, weighed
from bridge.validation.report import (
    Check,
    Issue,
    Severity,
    Validation,
    ValidatorReport,
    Verdict,
)

CHECK = {"name": "intent", "passed": True, "detail": "read"}
FAILS = {"name": "edges", "passed": False}
NO_CHANGE = "NOTHING_TO_VALIDATE"
GOOD = {"verdict": "APPROVED", "summary": "fine", "checks": [CHECK], "issues": []}
DONE = {"status": "success", "summary": "ok"}
RAN = {"type": "x", "content": "3 passed", "passed": True, "command": "pytest"}
NONE_OF = "none of APPROVED, NEEDS_REVIEW, REJECTED"
SMALL = "it comes from a small model, or not from the one wanted"
NEITHER = "its answer has neither a verdict nor a status"
CHANGED = Change("diff", files=(ChangedFile("a.py", 1, 0),))


def issue(severity):
    return {"severity": severity, "message": "x"}


def ended(code: str, status: str = "failed") -> Response:
    failure = Failure(code=code, message=f"it was {code}", stage=Stage.RUNNING)
    return response(None, success=False, status=status, error=failure)


def test_an_approval_as_the_built_in_validators_give_it():
    found = report_of("validator-logic", response(GOOD))

    assert found == ValidatorReport(
        validator="validator-logic",
        said=Verdict.APPROVED,
        verdict=Verdict.APPROVED,
        summary="fine",
        checks=(Check(name="intent", passed=True, detail="read"),),
        request_id="r1",
        duration_s=1.5,
    )
    made = validation_of(CHANGED, [found], complexity="low")
    assert made.is_approved
    # One name for how long it took, as in what `build` and `run` print.
    (shown,) = made.to_data()["reports"]
    assert (made.to_data()["durationS"], shown["durationS"]) == (0.0, 1.5)
    assert Validation.model_validate_json(made.model_dump_json(by_alias=True)) == made


@pytest.mark.parametrize(
    ("answer", "doubt"),
    [
        ({**GOOD, "checks": []}, "it names nothing that it looked at"),
        ({**GOOD, "issues": [issue("error")]}, "it lists 1 error"),
        ({**GOOD, "issues": issue("error")}, "it lists 1 error"),
        ({**GOOD, "issues": 3}, "1 of its checks and issues cannot be read"),
        ({**GOOD, "checks": [CHECK, FAILS]}, "a check did not pass: edges"),
        (
            {**GOOD, "evidence": [RAN | {"passed": False}]},
            "a check did not pass: pytest",
        ),
        (
            {**GOOD, "issues": [issue("fatal")]},
            "1 of its checks and issues cannot be read",
        ),
        ({**GOOD, "verdict": "PASS"}, f"its verdict is 'PASS', {NONE_OF}"),
        ({**GOOD, "verdict": NO_CHANGE}, f"its verdict is '{NO_CHANGE}', {NONE_OF}"),
        ({"text": "fine"}, NEITHER),
        ("APPROVED", NEITHER),
        (None, NEITHER),
        (DONE, "it names nothing that it looked at"),
    ],
)
def test_an_approval_in_doubt_is_none(answer, doubt):
    found = report_of("v", response(answer))

    assert found.verdict is Verdict.NEEDS_REVIEW
    assert any(each.startswith(doubt) for each in found.doubts), found.doubts
    assert decide(CHANGED, [found])[0] is Verdict.NEEDS_REVIEW


@pytest.mark.parametrize(
    ("answer", "verdict", "checks"),
    [
        ({**DONE, "evidence": [RAN]}, Verdict.APPROVED,
         (Check(name="pytest", passed=True, detail="3 passed"),)),
        ({"status": "failed", "summary": "no"}, Verdict.REJECTED, ()),
        ({"status": "partial", "summary": "half"}, Verdict.NEEDS_REVIEW, ()),
        ({"status": "blocked", "summary": "stop"}, Verdict.NEEDS_REVIEW, ()),
        ({**GOOD, "status": "failed"}, Verdict.REJECTED, None),
        ({**GOOD, "verdict": "REJECTED", "status": "success"}, Verdict.REJECTED, None),
    ],
)  # fmt: skip
def test_other_forms_of_an_answer(answer, verdict, checks):
    """An agent's usual report is a verdict, too; of two verdicts the worse counts."""
    found = report_of("mine", response(answer))

    assert found.verdict is verdict
    assert checks is None or found.checks == checks


def test_issues_are_read_as_they_come():
    answer = {
        **GOOD,
        "verdict": "REJECTED",
        "issues": [
            {"severity": "error", "file": "a.py", "line": 3, "message": "bad"},
            {"severity": "info", "file": "b.py:7:2", "message": "look"},
            {"message": "no severity", "rule": "style", "more": 1},
            "only words",
            {"severity": "error", "line": 0, "message": "line 0"},
            {"severity": "error"},
            7,
        ],
    }

    found = report_of("v", response(answer))

    assert found.issues == (
        Issue(severity=Severity.ERROR, file="a.py", line=3, message="bad"),
        Issue(severity=Severity.INFO, file="b.py", line=7, message="look"),
        Issue(severity=Severity.WARNING, message="no severity", rule="style"),
        Issue(severity=Severity.WARNING, message="only words"),
    )
    assert [each.place for each in found.issues] == ["a.py:3", "b.py:7", "", ""]
    assert found.doubts == ("3 of its checks and issues cannot be read",)


@pytest.mark.parametrize(
    ("answered", "must_verify", "code", "doubt"),
    [
        (ended("timeout", "timeout"), False, "timeout", "it was timeout"),
        (ended("cancelled", "cancelled"), False, "cancelled", "it was cancelled"),
        (ended("empty_answer"), False, "empty_answer", "it was empty_answer"),
        (ended("unverified"), True, "unverified", "it was unverified"),
        (response(GOOD, degraded=True), False, None, SMALL),
        (response(GOOD, route="manual"), False, None, "it was answered by hand"),
        (response(GOOD, route="manual"), True, None, "no command was seen to succeed"),
    ],
)
def test_who_failed_or_cannot_be_relied_on_approves_nothing(
    answered, must_verify, code, doubt
):
    found = report_of("v", answered, must_verify=must_verify)

    assert (found.verdict, found.code) == (Verdict.NEEDS_REVIEW, code)
    assert doubt in found.doubts


def test_what_had_to_be_verified_was():
    """No route lets such an answer pass without evidence."""
    assert report_of("v", response(GOOD), must_verify=True).verified
    assert not report_of("v", response(GOOD)).verified


def test_a_blocked_validator_has_failed():
    failure = Failure(code="agent_blocked", message="no", stage=Stage.RUNNING)
    said = {"status": "blocked", "summary": "no"}

    found = report_of("v", response(said, success=False, error=failure))

    assert (found.code, found.verdict) == ("agent_blocked", Verdict.NEEDS_REVIEW)


APPROVES = weighed(read("a", GOOD))
ASKS = weighed(read("b", {**GOOD, "verdict": "NEEDS_REVIEW", "summary": "see x"}))
REJECTS = weighed(read("c", {**GOOD, "verdict": "REJECTED", "summary": "no"}))
FAILED = no_report("d", "it did not answer", code="timeout")
NOTHING = Change("", ("Nothing differs",))
UNREAD = Change("", ("It could not be read",), is_whole=False)
NOT_IN_FILES = replace(CHANGED, is_whole=False, notes=("Left out, over 9: x",))
PARTLY = replace(NOT_IN_FILES, is_rest_in_files=True)
NOBODY = "no validator was asked"
NOT_SHOWN = "the validators were not shown the whole change: "
UNSEEN = f"{NOT_SHOWN}Left out, over 9: x"


@pytest.mark.parametrize(
    ("change", "reports", "can_read", "verdict", "reasons"),
    [
        (CHANGED, [APPROVES], False, "APPROVED", ()),
        (CHANGED, [], True, "NEEDS_REVIEW", (NOBODY,)),
        (CHANGED, [APPROVES, ASKS], True, "NEEDS_REVIEW", ("b: see x",)),
        (CHANGED, [APPROVES, ASKS, REJECTS], True, "REJECTED", ("c: no",)),
        (CHANGED, [FAILED, REJECTS], True, "REJECTED", ("c: no",)),
        (CHANGED, [APPROVES, FAILED], True, "NEEDS_REVIEW", ("d: it did not answer",)),
        (PARTLY, [APPROVES], True, "APPROVED", ()),
        (PARTLY, [APPROVES], False, "NEEDS_REVIEW", (UNSEEN,)),
        (NOT_IN_FILES, [APPROVES], True, "NEEDS_REVIEW", (UNSEEN,)),
        (NOTHING, [], True, NO_CHANGE, ("nothing differs: nobody was asked",)),
        (
            UNREAD,
            [],
            True,
            "NEEDS_REVIEW",
            (NOBODY, f"{NOT_SHOWN}It could not be read"),
        ),
    ],
)
def test_the_verdict_of_all(change, reports, can_read, verdict, reasons):
    """The table of `aggregate`: the worst verdict, and who gave it."""
    assert decide(change, reports, can_read=can_read) == (Verdict(verdict), reasons)


def test_an_empty_change_is_no_approval():
    made = validation_of(Change("", scope=Scope("staged")), [])

    assert made.verdict is Verdict.NOTHING
    assert not made.is_approved
    assert made.scope == "what is staged"


REPORTS = st.builds(
    ValidatorReport,
    validator=st.just("v"),
    said=st.sampled_from([None, *list(Verdict)[:3]]),
    verdict=st.sampled_from(list(Verdict)[:3]),
    doubts=st.lists(st.just("a doubt"), max_size=1).map(tuple),
    code=st.sampled_from([None, "timeout"]),
    degraded=st.booleans(),
    verified=st.booleans(),
    checks=st.lists(
        st.builds(Check, name=st.just("c"), passed=st.booleans()), max_size=2
    ).map(tuple),
    issues=st.lists(
        st.builds(Issue, severity=st.sampled_from(Severity), message=st.just("m")),
        max_size=2,
    ).map(tuple),
)


@given(st.lists(REPORTS, max_size=4), st.booleans())
def test_approved_means_that_all_of_them_approve_without_a_doubt(reports, must_verify):
    weighed_all = [
        weighed(each.with_(verdict=each.said or Verdict.NEEDS_REVIEW),
                must_verify=must_verify)
        for each in reports
    ]  # fmt: skip

    verdict, reasons = decide(CHANGED, weighed_all)

    if verdict is Verdict.APPROVED:
        assert reports
        for each in reports:
            assert each.said is Verdict.APPROVED
            assert (each.doubts, each.code, each.degraded) == ((), None, False)
            assert each.verified or not must_verify
            assert each.checks
            assert all(check.passed for check in each.checks)
            assert all(issue.severity is not Severity.ERROR for issue in each.issues)
    else:
        assert reasons


ANSWERS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["verdict", "status", "summary", "checks", "issues", "evidence",
                 "name", "passed", "severity", "message", "file", "line", "rule"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)  # fmt: skip


@given(ANSWERS)
def test_any_answer_can_be_read(answer):
    """A validator of a user's own may have any schema."""
    report = report_of("v", response(answer))

    assert report.verdict in Verdict
    assert report.said is not None or report.doubts
