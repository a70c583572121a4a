"""SARIF as GitHub and editors take it: valid, and inside the project."""

from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sariflogs import issue, logged, rejected, run_of, told
from thoroughness import examples
from validatorworld import APPROVED

from bridge.validation.answers import read, weighed
from bridge.validation.report import (
    Check,
    Issue,
    Severity,
    Validation,
    ValidatorReport,
    Verdict,
)


def rule(name):
    return {"id": name, "shortDescription": {"text": f"What {name} says"}}


def result(rule, index, level, text, uri, **region):
    place = {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}, **region}
    found = {"ruleId": rule, "ruleIndex": index, "level": level}
    where = [{"physicalLocation": place}]
    return found | {"message": {"text": text}, "locations": where}


def test_a_whole_log():
    first = issue("zero", file="a b/é.py", line=3)
    second = Issue(severity=Severity.INFO, message="late", rule="style")
    about = {"scope": "what is staged", "complexity": "low"}

    run = logged(
        rejected(first, name="validator-logic"),
        rejected(second, name="mine"),
        verdict="REJECTED",
        paths=("first.py",),
        **about,
    )

    fingerprints = [each.pop("partialFingerprints") for each in run["results"]]
    assert [len(each["hostbridgeIssue/v1"]) for each in fingerprints] == [64, 64]
    rules = [rule("validator-logic"), rule("mine"), rule("mine/style")]
    line = {"region": {"startLine": 3}}
    assert told(run, is_success=True) == []
    assert run == {
        "tool": {"driver": {"name": "hostbridge", "version": "1.2.3", "rules": rules}},
        "automationDetails": {"id": "hostbridge/validate/"},
        "invocations": run["invocations"],
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "the project"}}},
        "results": [
            result("validator-logic", 0, "error", "zero", "a%20b/%C3%A9.py", **line),
            result("mine/style", 2, "note", "late", "first.py"),
        ],
        "properties": {"verdict": "REJECTED", **about},
    }


def test_a_check_that_did_not_pass_is_a_result_where_no_issue_says_more():
    failing = {"name": "pytest", "passed": False, "detail": "1 failed"}
    for verdict, level in (("REJECTED", "error"), ("NEEDS_REVIEW", "warning")):
        said = {**APPROVED, "verdict": verdict, "checks": [failing]}
        run = logged(weighed(read("v", said)), verdict=verdict)
        found = [(each["level"], each["message"]["text"]) for each in run["results"]]
        assert found == [(level, "pytest: 1 failed")]
    said = {**APPROVED, "verdict": "NEEDS_REVIEW", "summary": "see x"}
    run = logged(weighed(read("v", said)), verdict="NEEDS_REVIEW")
    assert [each["message"]["text"] for each in run["results"]] == ["see x"]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/../b.py", "b.py"),
        ("100%.py", "100%25.py"),
        ("a#b?c.py", "a%23b%3Fc.py"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
        ("c:\\x", "c%3A%5Cx"),
        ("../x", "first.py"),
        ("src/../../x", "first.py"),
        ("/etc/passwd", "first.py"),
        ("//host/x", "first.py"),
        ("/px/a.py", "first.py"),
        (".", "first.py"),
        ("", "first.py"),
        (None, "first.py"),
    ],
)
def test_places_never_leave_the_project(file, uri):
    """An issue without a place of its own is at the first file that changed."""
    report = rejected(issue(file=file, line=2))
    run = logged(report, verdict="REJECTED", paths=("first.py",))

    (location,) = run["results"][0]["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri
    assert ("region" in place) == (uri != "first.py")


def test_a_fingerprint_stays_as_lines_move():
    def prints(*issues: Issue) -> list[str]:
        run = logged(rejected(*issues), verdict="REJECTED")
        found = [each["partialFingerprints"] for each in run["results"]]
        return [each["hostbridgeIssue/v1"] for each in found]

    moved = prints(issue(file="a.py", line=1), issue(file="a.py", line=9))
    others = prints(issue("n", file="a.py"), issue(file="b.py"))

    assert moved[0] == moved[1]
    assert len({*moved, *others}) == 3


def test_an_agents_words_become_no_link():
    run = logged(rejected(issue("[here](https://evil.example)")), verdict="REJECTED")

    message = run["results"][0]["message"]["text"]
    assert message == "[here\\](https://evil.example)"


WORDS = st.text(max_size=12)
REPORTS = st.builds(
    ValidatorReport,
    validator=st.text(min_size=1, max_size=5),
    said=st.sampled_from([None, *list(Verdict)[:3]]),
    verdict=st.sampled_from(list(Verdict)[:3]),
    summary=WORDS,
    doubts=st.lists(WORDS, max_size=2).map(tuple),
    code=st.sampled_from([None, "timeout"]),
    checks=st.lists(st.builds(Check, name=WORDS, passed=st.booleans(), detail=WORDS),
                    max_size=2).map(tuple),
    issues=st.lists(
        st.builds(Issue, severity=st.sampled_from(Severity), message=WORDS,
                  file=st.one_of(st.none(), WORDS, st.just("../../x")),
                  line=st.one_of(st.none(), st.integers(1, 2**40)),
                  rule=st.one_of(st.none(), WORDS)),
        max_size=2,
    ).map(tuple),
)  # fmt: skip


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(REPORTS, max_size=3), st.sampled_from(Verdict), st.lists(WORDS, max_size=2)
)
def test_whatever_validators_say_the_log_is_valid(reports, verdict, paths):
    run = run_of(
        Validation(
            verdict=verdict,
            reports=tuple(reports),
            reasons=("why",),
            paths=tuple(path for path in paths if path.strip("./")),
        )
    )

    for result in run["results"]:
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        for each in result["locations"]:
            uri = each["physicalLocation"]["artifactLocation"]["uri"]
            assert ":" not in uri
            assert not uri.startswith("/")
            assert ".." not in unquote(uri).split("/")
    if verdict is Verdict.NEEDS_REVIEW and not run["results"]:
        assert told(run, is_success=False)
