"""`hostbridge workflow`: which workflows there are, and what is wrong in them."""

from __future__ import annotations

import json

import pytest

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
    folder = project.bridge.settings.home / "workflows"
    folder.mkdir(parents=True)
    (folder / "nightly.yaml").write_text(PIPELINE)
    (folder / "careful.yaml").write_text(STEPS)
    return folder


@pytest.mark.usefixtures("own")
def test_list_names_both_kinds(project):
    ran = project.run("workflow")

    assert (
        """\
careful  (user, steps)
    Look before you leap.
"""
        in ran.out
    )
    assert (
        """\
nightly  (user, pipeline)
    Run the tests, and mend what fails.
    --param branch=… Which one. (required)
    --param rounds=… (default: 3)
"""
        in ran.out
    )
    assert ran.code == 0


@pytest.mark.usefixtures("own")
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


@pytest.mark.usefixtures("own")
def test_list_in_json(project):
    values = [
        json.loads(line)
        for line in project.run("workflow", "--json").out.split("\n")
        if line
    ]
    [nightly] = [each for each in values if each["name"] == "nightly"]

    assert nightly["kind"] == "pipeline"
    assert nightly["steps"] == ["tests", "mend"]
    assert nightly["inputs"]["branch"]["required"] is True
    assert nightly["problem"] is None


@pytest.mark.usefixtures("own")
def test_show_says_what_each_step_does(project):
    shown = project.run("workflow", "show", "nightly").out

    assert "    tests  exec pytest -q\n" in shown
    assert "    mend   general-purpose: Mend this: {steps.tests.output" in shown
    assert "    look\n    leap\n" in project.run("workflow", "show", "careful").out


@pytest.mark.usefixtures("own")
def test_graph_draws_a_pipeline(project):
    drawn = project.run("workflow", "graph", "nightly").out

    assert drawn.startswith("tests  exec pytest -q\n")
    assert "mend   general-purpose: Mend this: {st…, if st" in drawn
    assert "back to tests, 3 times at most" in drawn
    mermaid = project.run("workflow", "graph", "--mermaid", "nightly").out
    assert 'mend -->|"3 times at most"| tests' in mermaid
    ran = project.run("workflow", "graph", "careful")
    assert "is a step workflow: its conditions decide which step is next" in ran.err


def test_check_names_every_mistake(project, own):
    (own / "bad.yaml").write_text(PIPELINE.replace("steps.tests", "steps.test"))

    ran = project.run("workflow", "check", "bad")

    assert ran.code == 1
    assert "bad.yaml:10:16: steps[1].condition: no step is called 'test'" in ran.out
    assert "did you mean 'tests'?" in ran.out
    assert "a pipeline, 2 steps, 2 errors, 0 warnings" in ran.out
    assert project.run("workflow").code == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nightli"], "no workflow is named 'nightli'; did you mean 'nightly'?"),
        (["./none.yaml"], "none.yaml: no such file or directory"),
    ],
)
@pytest.mark.usefixtures("own")
def test_what_is_not_there_is_named(project, words, why):
    assert why in project.run("workflow", "check", *words).err


def test_the_words_must_fit(project):
    assert "list takes no 'x'" in project.run("workflow", "list", "x").err
    assert "check needs a workflow" in project.run("workflow", "check").err
    assert (
        "try: hostbridge workflow graph --mermaid"
        in project.run("workflow", "check", "x", "--mermaid").err
    )


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
