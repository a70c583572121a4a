"""`hostbridge task validate`: it waits, and says what was found."""

import json

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder

pytestmark = pytest.mark.slow


@pytest.fixture
def judged(project, tmp_path):
    """A project with one task, and a `claude` that says what it is told."""
    trust_folder(tmp_path / "home", project.folder)
    program = tmp_path / "fake"
    project.env |= {"BRIDGE_CLAUDE": str(program / "claude")}
    project.run("task", "create", "One", "--criteria", "it runs")

    def say(**verdict):
        text = printing(result(structured_output=verdict))
        fake_claude(program, text)
        return project

    return say


def test_a_task_passes(judged):
    project = judged(passed=True, feedback=[])

    ran = project.run("task", "validate", "1", "--route", "claude")

    assert (ran.code, ran.out) == (0, "#1 passed (look 1 of 3)\n")
    assert project.run("task", "close", "1").code == 0


def test_a_task_fails_and_is_looked_at_again(judged, tmp_path):
    project = judged(passed=False, feedback=["none:\nno test of it"])

    ran = project.run("task", "validate", "1", "-r", "claude", "--reason", "I added it")
    told = (tmp_path / "fake" / "stdin").read_text()
    refused = project.run("task", "close", "1")
    judged(passed=True, feedback=[])
    again = project.run("task", "validate", "1", "-r", "claude", "--json")

    assert (ran.code, ran.out) == (
        1,
        "#1 failed (look 1 of 3)\n  - none:\n    no test of it\n",
    )
    assert "I added it" in told
    assert "its validation failed: none:" in refused.err
    found = json.loads(again.out)
    assert (found["isValid"], found["iteration"]) == (True, 2)
    assert [each["state"] for each in found["history"]] == ["failed", "passed"]


def test_error_nobody_could_look_at_it(judged):
    project = judged(passed=True, feedback=[])

    ran = project.run("task", "validate", "1")

    assert ran.code == 4
    assert "no open session" in ran.err or "no Claude Code session" in ran.err
    assert project.run("task", "close", "1").err.startswith(
        "hostbridge: task #1 cannot be closed: it has not been validated"
    )
