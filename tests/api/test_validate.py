"""`Bridge.validate` and `build_and_validate`, and the same awaited."""

import asyncio
import json
from functools import partial

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from gitworld import Repository
from servingworld import bridge_in
from validatorworld import APPROVED, ISSUE, REJECTED

import bridge as package
from bridge.api.aio import AsyncBridge
from bridge.change.collect import read_change
from bridge.change.scope import Scope
from bridge.errors import BridgeError, InvalidRequest, NoHost
from bridge.validation.report import Severity, Verdict

pytestmark = pytest.mark.slow

ONE = "validator-logic"


@pytest.fixture
def bridge(tmp_path, monkeypatch):
    monkeypatch.setitem(read_change.__kwdefaults__, "timeout_s", 300.0)
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
    assert (found.verdict, found.is_approved) == (Verdict.REJECTED, False)
    assert found.files == 1
    (report,) = found.reports
    (issue,) = report.issues
    assert (issue.severity, issue.message) == (Severity.ERROR, ISSUE["message"])
    assert (issue.place, report.validator) == ("shop.py:1", ONE)
    # What the run came to can be read again, and from JSON.
    assert bridge.validation(found.run) == found
    data = json.loads(json.dumps(found.to_data()))
    assert package.Validation.model_validate(data) == found


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
        verdicts = [str(each.verdict) for each in found.reports]
        assert (count, verdicts) == (1, ["APPROVED", "REJECTED"])
        reading = f"{', '.join(names)}: asked together, in one reading"
        assert found.readings == (reading,)
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


SECONDS = ": expected seconds, more than 0"
WRONG = [
    ("validate", {"validators": 5}, "validators 5: expected a name, or several"),
    ("validate", {"validators": []}, "no validator is named"),
    ("validate", {"complexity": "huge"}, "'huge': expected trivial, low, medium"),
    ("validate", {"staged": "yes"}, "staged 'yes': expected True or False"),
    ("validate", {"together": "yes"}, "together 'yes': expected True or False"),
    ("validate", {"validator": ONE}, "did you mean 'validators'?"),
    ("validate", {"timeout_s": -1}, f"timeout_s -1{SECONDS}"),
    ("validate", {"step_timeout_s": 0}, f"step_timeout_s 0{SECONDS}"),
    ("validate", {"max_agents": -1}, "-1: expected a number of agents, 0 or more"),
    ("validate", {"max_tokens": -1}, "-1: expected a number of tokens, 0 or more"),
    ("build", {"timeout_s": -1}, f"timeout_s -1{SECONDS}"),
    ("build", {"rounds": 0}, "rounds 0: expected a number of rounds, from 1 to 20"),
    ("build", {"escalate_to": "boss"}, "human, architect, coordinator or none"),
    ("build", {"agent": "nobody-of-that-name"}, "no agent is named"),
]


@pytest.mark.parametrize(("way", "options", "said"), WRONG, ids=str)
def test_error_a_wrong_option_is_named(bridge, way, options, said):
    kind = InvalidRequest if way == "validate" else BridgeError
    ask = bridge.validate
    if way == "build":
        ask = partial(bridge.build_and_validate, "count")

    with pytest.raises(kind) as refused:
        ask(route="claude", **options)

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


def test_error_without_a_session_nothing_begins(bridge):
    with pytest.raises(NoHost):
        bridge.validate(validators=ONE)

    assert not [*(bridge.store.place.state / "runs").glob("*")]
