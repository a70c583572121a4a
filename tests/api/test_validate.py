"""`Bridge.validate` and `build_and_validate`, and the same awaited."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from gitworld import Repository
from servingworld import bridge_in
from validatorworld import APPROVED, ISSUE, REJECTED

import bridge as package
from bridge.api.aio import AsyncBridge
from bridge.change.scope import Scope
from bridge.errors import BridgeError, InvalidRequest, NoHost
from bridge.validation.report import Severity, Verdict

if TYPE_CHECKING:
    from pathlib import Path

ONE = "validator-logic"


@pytest.fixture
def bridge(tmp_path: Path):
    program = tmp_path / "bin" / "claude"
    made = bridge_in(tmp_path, claude=str(program))
    project = made.store.place.project
    project.mkdir(parents=True, exist_ok=True)
    Repository(project)
    (project / "a").write_text("one\n2\n")
    trust_folder(made.settings.claude_dir.parent, project)
    return made


def saying(tmp_path, answer):
    fake_claude(tmp_path / "bin", printing(result(structured_output=answer)))


def test_a_verdict_is_a_typed_value(bridge, tmp_path):
    saying(tmp_path, REJECTED)

    found = bridge.validate(validators=ONE, route="claude")

    assert isinstance(found, package.Validation)
    assert (found.verdict, found.is_approved, found.files) == (
        Verdict.REJECTED, False, 1,
    )  # fmt: skip
    (report,) = found.reports
    (issue,) = report.issues
    assert (issue.severity, issue.message) == (Severity.ERROR, ISSUE["message"])
    assert (issue.place, report.validator) == ("shop.py:1", ONE)
    # What the run came to can be read again.
    assert bridge.validation(found.run) == found


@pytest.mark.parametrize(
    ("scope", "files"),
    [("folder", 0), (["a"], 1), (Scope("staged"), 0), ("HEAD", 1)],
    ids=str,
)
def test_a_scope_is_words_or_a_value(bridge, tmp_path, scope, files):
    saying(tmp_path, APPROVED)

    found = bridge.validate(scope, validators=[ONE], route="claude")

    assert found.files == files
    assert found.verdict is (Verdict.APPROVED if files else Verdict.NOTHING)


def test_a_build_is_a_typed_value(bridge, tmp_path):
    """One answer of `claude` for all: that of the builder, which no validator gives."""
    built = {"status": "success", "summary": "built", "files": [], "evidence": []}
    saying(tmp_path, built)

    done = bridge.build_and_validate(
        "count", validators=ONE, route="claude", rounds=2, escalate_to="none"
    )

    assert isinstance(done, package.BuildResult)
    assert (done.status, done.is_approved, done.approved_by) == (
        "completed", False, None,
    )  # fmt: skip
    # It has changed nothing, each time.
    assert [each.verdict for each in done.rounds] == [Verdict.NOTHING] * 2
    assert (done.summary, done.asked) == ("built", 2)
    assert bridge.build_result(done.run) == done


def counting(tmp_path, answer):
    """A `claude` that counts how often it is started; returns where."""
    counted = tmp_path / "started"
    lines = f"echo x >>{counted}\n"
    fake_claude(tmp_path / "bin", lines + printing(result(structured_output=answer)))
    return counted


@pytest.mark.parametrize("together", [True, False])
def test_together_one_agent_is_started_for_all(bridge, tmp_path, together):
    names = [ONE, "validator-security"]
    started = counting(tmp_path, {ONE: APPROVED, names[1]: REJECTED})

    found = bridge.validate(validators=names, route="claude", together=together)

    count = len(started.read_text().splitlines())
    if together:
        assert count == 1
        verdicts = [str(each.verdict) for each in found.reports]
        assert verdicts == ["APPROVED", "REJECTED"]
        assert found.readings == (
            f"{', '.join(names)}: asked together, in one reading",
        )
    else:
        # That is the form of no single one.
        assert count >= 2
        assert (found.verdict, found.readings) == (Verdict.NEEDS_REVIEW, ())


def test_the_same_is_awaited(bridge, tmp_path):
    saying(tmp_path, APPROVED)
    seen = []

    async def both():
        ours = AsyncBridge(bridge)
        found = await ours.validate(
            validators=ONE, route="claude", on_change=seen.append
        )
        return found, await ours.validation(found.run)

    found, again = asyncio.run(both())

    assert found.verdict is Verdict.APPROVED
    assert again == found
    assert seen[-1].run["status"] == "completed"


def test_a_run_that_stops_is_no_approval(bridge, tmp_path):
    saying(tmp_path, APPROVED)

    found = bridge.validate(validators=ONE, route="claude", max_agents=0)

    assert found.verdict is Verdict.NEEDS_REVIEW
    assert "--max-agents" in found.reasons[0]
    done = bridge.resume(found.run, max_agents=1)
    assert done.success
    assert bridge.validation(found.run).is_approved


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"validators": 5}, "validators 5: expected a name, or several"),
        ({"validators": []}, "no validator is named"),
        ({"complexity": "huge"}, "complexity 'huge': expected trivial, low, medium"),
        ({"staged": "yes"}, "staged 'yes': expected True or False"),
        ({"together": "yes"}, "together 'yes': expected True or False"),
        ({"validator": ONE}, "did you mean validators?"),
        ({"timeout_s": -1}, "timeout_s -1: expected seconds, more than 0"),
        ({"step_timeout_s": 0}, "step_timeout_s 0: expected seconds, more than 0"),
        ({"max_agents": -1}, "max_agents -1: expected a number of agents, 0 or more"),
        ({"max_tokens": -1}, "max_tokens -1: expected a number of tokens, 0 or more"),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_error_a_wrong_option_is_named(bridge, options, said):
    with pytest.raises(InvalidRequest) as refused:
        bridge.validate(route="claude", **options)

    assert said in str(refused.value)
    assert not [*(bridge.store.place.state / "runs").glob("*")]


def test_error_the_method_for_another_kind_of_run_is_named(bridge, tmp_path):
    saying(tmp_path, APPROVED)
    looked = bridge.validate(validators=ONE, route="claude").run
    built = bridge.build_and_validate(
        "count", validators=ONE, route="claude", rounds=1, escalate_to="none"
    ).run
    flow = bridge.run('researcher:"x"', route="claude").run

    with pytest.raises(InvalidRequest, match=r"is a validate.*Bridge\.validation"):
        bridge.build_result(looked)
    with pytest.raises(InvalidRequest, match=r"is a build.*Bridge\.build_result"):
        bridge.validation(built)
    with pytest.raises(InvalidRequest, match="is a run of a flow"):
        bridge.validation(flow)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout_s": -1}, "timeout_s -1: expected seconds, more than 0"),
        ({"rounds": 0}, "rounds 0: expected a number of rounds, from 1 to 20"),
        ({"escalate_to": "boss"}, "expected human, architect, coordinator or none"),
        ({"agent": "nobody-of-that-name"}, "no agent is named"),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_error_what_cannot_be_built_is_refused(bridge, options, said):
    with pytest.raises(BridgeError) as refused:
        bridge.build_and_validate("count", route="claude", **options)

    assert said in str(refused.value)


def test_error_without_a_session_nothing_begins(bridge):
    with pytest.raises(NoHost):
        bridge.validate(validators=ONE)

    assert not [*(bridge.store.place.state / "runs").glob("*")]


def test_json_of_a_verdict_reads_back(bridge, tmp_path):
    saying(tmp_path, REJECTED)

    found = bridge.validate(validators=ONE, route="claude")

    data = json.loads(json.dumps(found.to_data()))
    assert package.Validation.model_validate(data) == found
