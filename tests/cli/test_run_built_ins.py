"""The built-in workflows and agents by a person who knows nothing of YAML."""

import json

import pytest
from scripted_server import say

from bridge.shipped import agents_folder, optional_folder

pytestmark = pytest.mark.slow

DEVELOPED = {"status": "success", "summary": "It greets.", "files": [], "evidence": []}
REVIEWED = {"approved": True, "feedback": [], "summary": "Read.", "evidence": []}
JUDGED = {"passed": True, "feedback": []}


@pytest.fixture
def task(project):
    return project.bridge.tasks.create("It greets", validation_criteria="it does")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("task-expansion --param task=99", 1, "there is no task #99"),
        ("task-validation --param task=99", 1, "there is no task #99"),
        ("coordinator --param task=99", 1, "there is no task #99"),
        ("task-expansion --param task=soon", 2, "'soon'"),
        ("task-expansion", 2, "needs the input 'task': --param task=..."),
        ("task-expansion --param tsak=1", 2, "no input 'tsak'; did you mean 'task'?"),
        ("coordinator --param session_task=99", 1, "there is no task #99"),
        ("task-expansion --param target_task_id=99", 1, "there is no task #99"),
        ("coordinator", 2, "needs the input 'task'"),
    ],
)
def test_error_it_is_said_what_is_missing(project, claude, words, code, message):
    project.run("run", *words.split(), "--route", "claude").refuses(code, message)
    assert not (claude / "stdin").exists()


@pytest.mark.parametrize("name", ["task-expansion", "task-validation", "coordinator"])
def test_error_a_task_that_is_not_there_is_said_before_who_is_missing(project, name):
    ran = project.run("run", name, "--param", "task=99")

    ran.refuses(1, "there is no task #99", "see which there are: hostbridge task")
    assert "session" not in ran.err
    assert project.run("runs", "--json").out == ""


def test_error_a_word_with_a_task_that_is_no_agent(project, task):
    ran = project.run("ask", "task-ps", "--task-id", task.ref)

    ran.refuses(
        2,
        "no agent is named 'task-ps'; did you mean task-ops",
        "ask general-purpose task-ps --task-id '#1'",
    )
    assert "session" not in ran.err


def test_error_nobody_who_could_do_it(project, task):
    """The ways on are named, and the task is as it was."""
    ran = project.run("run", "task-expansion", "--param", f"task={task.ref}")

    ran.refuses(4, "--route claude")
    assert str(project.bridge.tasks.get(task.ref).status) == "open"


TASK_OPS = {"status": "success", "summary": "Done.", "tasks": []}


def tool(name, **arguments):
    return say(json.dumps({"tool": f"mcp__hostbridge__{name}", "arguments": arguments}))


def submitted(**answer):
    return say(json.dumps({"tool": "submit_result", "arguments": answer}))


def expansion(task):
    """What a model does that is led through task-expansion."""
    subtasks = [
        {"title": "It says hello", "description": "", "validation_criteria": ""},
        {"title": "It says who", "description": "", "depends_on": [0]},
    ]
    return [
        tool("get_task", task_id=task),
        tool("set_variables", values={"research_complete": True}),
        tool("save_expansion_spec", task_id=task, spec={"subtasks": subtasks}),
        tool("execute_expansion", task_id=task),
        submitted(**TASK_OPS),
    ]


EXPANDS = ("run", "task-expansion", "--param", "task=1", "--route", "endpoint")


def test_a_task_is_divided_on_a_model_server(endpoint, server, task):
    """Without a terminal each step is told by its values."""
    server.acts = expansion(task.ref)

    ran = endpoint.run(*EXPANDS)

    assert ran.code in (0, 7), ran
    titles = [each.title for each in endpoint.bridge.tasks.list()]
    assert titles == ["It greets", "It says hello", "It says who"]
    assert "work ok after" in ran.err
    assert ": task-ops: #1\n" in ran.err
    assert "${{" not in ran.err


def validation(talk, asked):
    """What models say that are led through task-validation, and that validate."""
    told = json.dumps(asked["messages"])
    if "You work on task" not in told:
        act = submitted(**JUDGED)
    elif "is closed. Report" in told:
        act = submitted(**TASK_OPS)
    elif "Call mcp__hostbridge__validate_task with" in told:
        act = tool("validate_task", task_id="#1")
    else:
        act = tool("get_validation_context_smart", task_id="#1")
    act(talk, asked)


def test_a_task_is_validated_and_closed_on_a_model_server(endpoint, server, task):
    server.acts = [validation]

    words = ("--param", f"task={task.ref}", "--route", "endpoint")
    ran = endpoint.run("run", "task-validation", *words, "--json")

    assert ran.code in (0, 7), ran
    assert str(endpoint.bridge.tasks.get(task.ref).status) == "closed"


@pytest.mark.parametrize(
    ("agent", "answer"),
    [
        ("developer", DEVELOPED),
        ("merge", DEVELOPED),
        ("qa-reviewer", REVIEWED),
        ("task-validator", JUDGED),
    ],
)
def test_an_agent_of_the_coordinator_on_a_model_server(
    endpoint, server, task, agent, answer
):
    """It has the tools that it lists, and writes files only if it is to."""
    calls = [
        {"tool": "mcp__hostbridge__get_task", "arguments": {"task_id": task.ref}},
        {"tool": "write_file", "arguments": {"path": "greet.py", "content": "x = 1\n"}},
        {"tool": "submit_result", "arguments": answer},
    ]
    writes = agent in ("developer", "merge")
    if not writes:
        del calls[1]
    if agent == "merge":
        del calls[0]
    server.acts = [say(json.dumps(call)) for call in calls]

    words = ("--task-id", task.ref, "--route", "endpoint", "--json")
    ran = endpoint.run("ask", agent, *words)

    told = json.dumps([asked["messages"] for asked in server.asked])
    assert ran.json["parsedOutput"] == answer, ran
    assert "It greets" in told
    assert ("validationCriteria" in told) is (agent != "merge")
    assert (endpoint.folder / "greet.py").exists() is writes


MINE = """\
name: {name}
description: {about}
steps: [{{name: only}}]
exit_condition: current_step == 'only'
"""


def put(folder, name, about="Mine."):
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{name}.yaml"
    file.write_text(MINE.format(name=name, about=about))
    return file


@pytest.mark.parametrize("is_named_alike", [False, True])
def test_error_a_step_workflow_of_any_path(project, is_named_alike):
    """An agent takes one by its name, and another may be meant by that."""
    library = project.bridge.settings.home / "workflows"
    if is_named_alike:
        put(library, "mine", "Another.")
    file = put(project.folder, "mine")

    ran = project.run("run", "./mine.yaml", "--dry-run", "/dev/null")

    ran.refuses(2, f"put {file} into {library}")
    assert ran.out == ""


def test_error_a_copy_of_a_built_in_that_its_agent_would_not_use(project):
    """Until the agent is copied, too; then it goes through the copy."""
    home = project.bridge.settings.home
    file = put(home / "workflows", "task-expansion")
    words = ("run", "task-expansion", "--dry-run", "/dev/null")

    refused = project.run(*words)
    (home / "agents").mkdir(mode=0o700)
    own = (agents_folder() / "task-ops.yaml").read_text()
    (home / "agents" / "task-ops.yaml").write_text(own)
    ran = project.run(*words)

    refused.refuses(
        2,
        f"'task-ops' would go through {optional_folder('workflows')}",
        f"not {file}: copy its definition into {home}/agents",
    )
    assert ran.code == 0, ran
    assert ran.out.startswith("work  task-ops\n")


def test_a_step_workflow_of_the_library_by_its_path(project):
    file = put(project.bridge.settings.home / "workflows", "mine")

    ran = project.run("run", str(file), "--dry-run", "/dev/null")

    assert ran.code == 0, ran
    assert ran.out.startswith("work  general-purpose\n    Mine.\n")
