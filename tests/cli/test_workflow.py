"""`hostbridge workflow`: which workflows there are, and what is wrong in them."""

import json

import pytest

pytestmark = [pytest.mark.usefixtures("own"), pytest.mark.slow]

PIPELINE = """\
name: nightly
description: Run the tests, and mend what fails.
inputs:
  branch: {type: string, required: true, description: Which one.}
  rounds: 3
allow: ["Bash(pytest [-q])"]
steps:
  - {id: tests, exec: [pytest, -q], on_failure: skip}
  - id: mend
    condition: steps.tests.status == "failed"
    agent: general-purpose
    prompt: "Mend this: ${{ steps.tests.output.stdout }}"
    repeat: {from: tests, max: 3}
"""
STEPS = """\
name: careful
description: Look before you leap.
variables: {seen: false}
steps:
  - name: look
    allowed_tools: [Read]
    transitions: [{to: leap, when: seen}]
  - name: leap
"""


@pytest.fixture
def own(project):
    project.write("workflows/nightly.yaml", PIPELINE, own=True)
    project.write("workflows/careful.yaml", STEPS, own=True)


def test_list_names_both_kinds(project):
    project.run("workflow").tells(
        0,
        "careful  (user, steps)\n    Look before you leap.\n",
        "nightly  (user, pipeline)\n    Run the tests, and mend what fails.\n"
        "    --param branch=… Which one. (required)\n"
        "    --param rounds=… (default: 3)\n",
    )


def test_variables_are_shown_by_show_not_in_the_list(project):
    assert "variable" not in project.run("workflow", "list").out
    shown = project.run("workflow", "show", "task-expansion").out
    assert "variable target_task_id=" in shown


@pytest.mark.parametrize("words", [["list"], ["show", "task-expansion"]])
def test_a_step_workflow_of_a_task_says_that_it_takes_one(project, words):
    """As `hostbridge run` takes it; its variables are for the model."""
    out = project.run("workflow", *words).out

    about = out.partition("task-expansion")[2].splitlines()[2]
    assert about == "    --param task=… The task, such as #42 (required)"


def test_list_in_json(project):
    values = map(json.loads, project.run("workflow", "--json").out.splitlines())
    [nightly] = [each for each in values if each["name"] == "nightly"]

    assert nightly["kind"] == "pipeline"
    assert nightly["steps"] == ["tests", "mend"]
    assert nightly["inputs"]["branch"]["required"] is True
    assert nightly["problem"] is None


def test_show_says_what_each_step_does(project):
    shown = project.run("workflow", "show", "nightly").out

    assert "    tests  exec pytest -q\n" in shown
    assert "    mend   general-purpose: Mend this: {steps.tests.output" in shown
    assert "    look\n    leap\n" in project.run("workflow", "show", "careful").out


def test_graph_draws_a_pipeline(project):
    drawn = project.run("workflow", "graph", "nightly").out

    assert drawn.startswith("tests  exec pytest -q\n")
    assert "mend   general-purpose: Mend this: {st…, if st" in drawn
    assert "back to tests, 3 times at most" in drawn
    mermaid = project.run("workflow", "graph", "--mermaid", "nightly").out
    assert 'mend -->|"3 times at most"| tests' in mermaid
    ran = project.run("workflow", "graph", "careful")
    assert "is a step workflow: its conditions decide which step is next" in ran.err


def test_check_names_every_mistake(project):
    bad = PIPELINE.replace("steps.tests", "steps.test")
    project.write("workflows/bad.yaml", bad, own=True)

    project.run("workflow", "check", "bad").tells(
        1,
        "bad.yaml:10:16: steps[1].condition: no step is called 'test'",
        "did you mean 'tests'?",
        "a pipeline, 2 steps, 2 errors, 0 warnings",
    )
    assert project.run("workflow").code == 1


@pytest.mark.parametrize("text", ["", "a: [", "steps: []\n"])
def test_check_says_no_kind_of_what_has_no_steps(project, text):
    file = project.folder / "w.yaml"
    file.write_text(text)

    assert "a workflow, 0 steps, " in project.run("workflow", "check", str(file)).out


def test_check_lists_no_step_that_has_no_name(project):
    file = project.folder / "w.yaml"
    steps = (
        "{id: a, set: {x: 1}}, {set: {x: 1}}, {id: b, fail: '${{ steps.nn.error }}'}"
    )
    file.write_text(f"type: pipeline\nsteps: [{steps}]\n")

    found = project.run("workflow", "check", str(file)).out

    assert "no step is called 'nn'; there are a\n" in found
