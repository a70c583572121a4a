"""`task-ops` and the step that starts it, in the forms that their plan prints."""

import pytest
from coordinatorworld import register_server

from bridge.agents.load import load
from bridge.agents.workflow_choice import choose
from bridge.shipped import agents_folder

# The step has servers of the plan's own program: those that end like this are ours.
PIPELINE = """\
name: expands
type: pipeline
inputs:
  session_task: {type: string, required: true}
steps:
- id: check_expansion
  mcp:
    server: any-tasks
    tool: get_task
    arguments:
      task_id: "${{ inputs.session_task }}"
- id: spawn_expander
  condition: "${{ not steps.check_expansion.output.is_expanded }}"
  mcp:
    server: any-agents
    tool: spawn_agent
    arguments:
      agent: task-ops
      workflow: expansion
      task_id: "${{ inputs.session_task }}"
      mode: terminal
"""


@pytest.fixture
def printed(project):
    """The head of the shipped definition, which is all that the plan has of it."""
    text = (agents_folder() / "task-ops.yaml").read_text().partition("\nprompt:")[0]
    project.write("agents/task-ops.yaml", text, own=True)
    register_server(project)
    return project


def test_the_definition_has_no_problem(printed):
    """Without a prompt, and without tools of its own."""
    checked = printed.run("agents", "check")

    assert (checked.code, checked.err) == (0, ""), checked
    shown = printed.run("agents", "show", "task-ops").out
    assert "expansion" in shown
    assert "validation" in shown


@pytest.mark.parametrize("is_expanded", [False, True])
def test_a_pipeline_starts_it_with_its_workflow(printed, host, is_expanded):
    """In a conversation of its own, for a task that nobody has divided."""
    printed.bridge.tasks.create("It greets", description="In greet.py.")
    if is_expanded:
        printed.bridge.tasks.create("A part", parent="#1")
    # A session is open above: by its path nothing would run.
    printed.write("workflows/expands.yaml", PIPELINE, own=True)
    words = ("run", "expands", "--param", "session_task=#1", "--json")

    ran = printed.run(*words)

    assert ran.code == 0, ran
    asked = host.claim()
    said = [(each.agent_type, each.task_id, each.route) for each in asked]
    assert said == ([] if is_expanded else [("task-ops", "#1", "host")])
    for each in asked:
        assert each.workflow == "expansion"
        assert "In greet.py." in each.prompt


@pytest.mark.parametrize("workflow", ["expansion", "validation"])
def test_a_call_chooses_its_workflow(printed, workflow):
    """Left to itself it is the default one."""
    printed.bridge.tasks.create("It greets")
    words = ("submit", "task-ops", "--task-id", "#1")

    chosen = printed.run(*words, "--workflow", workflow)
    plain = printed.run(*words)

    requests = [
        printed.bridge.status(ran.out.strip()).request for ran in (chosen, plain)
    ]
    definition = load(agents_folder() / "task-ops.yaml", "built-in").definition
    names = [choose(definition, each.workflow).name for each in requests]
    assert names == [f"task-{workflow}", "task-expansion"]
