"""Which workflow an agent works through: the call's, its default, its only one."""

import pytest

from bridge.agents import workflow_choice
from bridge.agents.workflow_choice import Choice, choose
from bridge.config import Settings
from bridge.errors import InvalidRequest
from bridge.protocol.request import Request

SEED = """\
provider: claude
mode: terminal
default_workflow: expansion

workflows:
  expansion:
    file: task-expansion.yaml
    mode: self
  validation:
    file: task-validation.yaml
"""
ONE = "workflow: deploy.yaml\n"
OWN = "prompt: '{{ task }}'\nsteps: [{name: b}]\n"
NONE = "prompt: '{{ task }}'\n"


@pytest.mark.parametrize(
    ("text", "asked", "choice"),
    [
        (SEED, None, Choice("task-expansion", "expansion", "self")),
        (SEED, "validation", Choice("task-validation", "validation")),
        (ONE, None, Choice("deploy")),
        (ONE, "deploy", Choice("deploy")),
        (ONE, "deploy.yaml", Choice("deploy")),
        (OWN, None, Choice("a", in_agent=True)),
        (OWN, "a", Choice("a", in_agent=True)),
        (NONE, None, None),
    ],
)
def test_the_call_chooses_or_else_the_definition(world, text, asked, choice):
    assert choose(world.defined(text), asked) == choice


NO_WORKFLOWS = (
    "has no workflows, so it cannot work through 'x'; leave the workflow out, or ask "
    "an agent that has it"
)


@pytest.mark.parametrize(
    ("text", "asked", "why"),
    [
        (SEED, "expanson", "has no workflow 'expanson'; did you mean 'expansion'?"),
        (OWN, "b", "has no workflow 'b'; it has a"),
        (SEED, "x", "has no workflow 'x'; it has expansion, validation"),
        (ONE, "other", "has no workflow 'other'; it has deploy.yaml"),
        (NONE, "x", NO_WORKFLOWS),
    ],
)
def test_error_a_workflow_that_the_agent_has_not(world, text, asked, why):
    """It never runs without the steps that were asked for."""
    definition = world.defined(text)

    with pytest.raises(InvalidRequest) as caught:
        choose(definition, asked)

    assert str(caught.value) == f"agent {definition.name!r} {why}"


@pytest.mark.parametrize(
    ("call", "asked", "mode"),
    [
        (None, None, "self"),
        ("headless", None, "headless"),
        (None, "validation", "terminal"),
        ("self", "validation", "self"),
    ],
)
def test_the_mode_is_the_calls_then_the_workflows_then_the_agents(
    world, call, asked, mode
):
    definition = world.defined(SEED)

    chosen = choose(definition, asked)
    assert workflow_choice.mode_of(definition, chosen, call) == mode


def test_an_agent_of_the_clients_takes_any_workflow_of_the_library():
    request = Request(request_id="a", prompt="x", workflow="deploy.yaml")

    workflow = workflow_choice.workflow_of(request)

    expected = {"name": "deploy", "layer": "project", "inAgent": False}
    assert workflow.to_data() == expected
    assert workflow_choice.workflow_of(request.with_(workflow=None)) is None


def test_a_workflow_gets_what_it_declares_of_its_request():
    given = {"arguments": {"depth": 2, "other": 1}, "variables": {"max_iterations": 5}}
    request = Request(request_id="a", prompt="x", task_id="#42", **given)
    declared = ("target_task_id", "max_iterations", "depth", "escalated")

    expected = {"target_task_id": "#42", "depth": 2, "max_iterations": 5}
    assert workflow_choice.workflow_variables(request, declared) == expected


def test_workflows_read_the_settings_that_are_for_them(tmp_path):
    assert workflow_choice.workflow_settings(Settings(home=tmp_path)) == {
        "research_agent": "researcher",
        "research_timeout": 60,
        "research_max_turns": 10,
        "validation_max_iterations": 3,
    }


ERRORS = {
    "default_workflow: expanson\nworkflows: {expansion: {file: x.yaml}}": "2: "
    "default_workflow: `workflows` has no 'expanson'; did you mean 'expansion'?",
    "default_workflow: a": "2: default_workflow: `workflows` has no 'a'",
    "workflows: {a: {file: ../x.yaml}}": "2: workflows.a.file: expected the name of a "
    "file in the folder of workflows, such as deploy.yaml, got a string ('../x.yaml')",
    "workflows: {a: {file: x.yaml, mode: slef}}": "2: workflows.a.mode: expected "
    "'terminal', 'headless' or 'self', got a string ('slef'); did you mean 'self'?",
    "workflows:\n  box:\n    type: pipeline\n    steps: [{id: a}]": "5: "
    "workflows.box.steps: a workflow has a file of its own: move it to "
    "workflows/box.yaml beside this folder, and write file: box.yaml here",
    "workflow: x\nworkflows: {a: {file: x.yaml}}": "2: workflow: `workflow` is for an "
    "agent with one; name it in `workflows`, too",
}


@pytest.mark.parametrize("text", ERRORS)
def test_error_workflows_that_cannot_be_chosen(world, text):
    found = world.load("a.yaml", f"name: a\n{text}\n")

    [problem] = found.problems
    assert str(problem) == f"{found.file}:{ERRORS[text]}"
    assert found.definition is None
