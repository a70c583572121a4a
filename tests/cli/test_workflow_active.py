"""`hostbridge workflow activate|status|end`, by a person and inside a session."""

import json
from textwrap import dedent

import pytest
from stepflows import HOLDER, LOOP, after, conversation

from bridge.workflows import progress

pytestmark = pytest.mark.slow


@pytest.fixture
def file(project):
    """A workflow of the user's own."""
    return project.write("workflows/loop.yaml", dedent(LOOP).lstrip("\n"), own=True)


@pytest.mark.usefixtures("file")
def test_a_workflow_needs_a_session(project):
    ran = project.run("workflow", "activate", "loop")
    status = project.run("workflow", "status")

    why = "no session is open here that validate-and-fix could lead"
    ran.refuses(2, why, "hostbridge run loop --param task=42")
    assert status.out.startswith("no step workflow is active")


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("looop", "no workflow is named 'looop'; did you mean 'loop'?"),
        ("coordinator", "is a pipeline, which runs by itself: hostbridge run coord"),
        ("loop --param fixd=1", "'fixd' is no variable of validate-and-fix; did you"),
    ],
)
def test_error_what_is_wrong_with_the_words_is_said_first(project, words, message):
    ran = project.run("workflow", "activate", *words.split())

    ran.refuses(2, message)
    assert "session" not in ran.err


@pytest.mark.usefixtures("file", "client")
def test_a_task_is_given_as_to_a_run(project):
    ran = project.run("workflow", "activate", "loop", "--param", "task=#42")

    assert ran.code == 0, ran
    (active,) = project.bridge.workflows.status()
    assert active.variables["target_task_id"] == "#42"


@pytest.mark.usefixtures("file", "client")
def test_a_person_begins_it_looks_and_ends_it(project):
    begun = project.run("workflow", "activate", "loop", "--param", "target_task_id=#42")
    again = project.run("workflow", "activate", "loop")
    status = project.run("workflow", "status").out
    ended = project.run("workflow", "end")
    after_it = project.run("workflow", "end")

    assert begun.out == (
        "validate-and-fix is active: step validate\n"
        "    it begins with what happens next in session s-1\n"
        "    variables: fixed, target_task_id; the model sets them with "
        "set_variables, or `hostbridge vars set`\n"
    )
    again.refuses(1, "the workflow validate-and-fix is active in this conversation")
    assert "validate-and-fix  step validate  (session s-1, begun " in status
    for line in (
        "    it begins with what happens next in the conversation",
        "    tools: Read, Grep, mcp__*__validate_task",
        "    to passed when validation_passed",
        '    target_task_id = "#42"',
        "    validation_iteration = 0  (set by tools)",
    ):
        assert line in status.splitlines()
    assert ended.out == "validate-and-fix has ended in step validate\n"
    after_it.refuses(2, "no workflow is active here")


@pytest.mark.usefixtures("client")
def test_status_says_where_it_was_and_that_the_file_has_changed(project, file):
    project.run("workflow", "activate", "loop")
    store = project.bridge.store
    bad = after("check", {"is_valid": False}, call="t-1")
    for _ in range(2):
        progress.advance(store, conversation(store), bad)
    file.write_text(file.read_text() + "\n# more\n")

    shown = project.run("workflow", "status").out
    value = json.loads(project.run("workflow", "status", "--json").out)

    assert "went to validate: activated" in shown
    assert "has changed since: this goes on as it was" in shown
    assert (value["of"], value["name"], value["isChanged"]) == (
        "session s-1", "validate-and-fix", True,
    )  # fmt: skip
    assert value["owners"]["max_iterations"] == "tool"


@pytest.mark.usefixtures("file")
def test_a_model_may_begin_one_and_not_end_it(project, client):
    inside = {"CLAUDECODE": "1", "CLAUDE_PID": str(client.pid)}
    cheat = ("--param", "max_iterations:=99")
    refused = project.run("workflow", "activate", "loop", *cheat, env=inside)
    begun = project.run("workflow", "activate", "loop", env=inside)
    ended = project.run("workflow", "end", env=inside)

    refused.refuses(1, "max_iterations is not a model's to set")
    assert begun.code == 0
    ended.refuses(1, "inside a Claude Code session")
    (active,) = project.bridge.workflows.status()
    assert (active.holder, active.record["by"]) == (HOLDER, "model")


@pytest.mark.usefixtures("client")
def test_error_a_workflow_with_mistakes(project, file):
    file.write_text("steps: [{name: one, transitions: [{to: tow}]}, {name: two}]\n")
    ran = project.run("workflow", "activate", "loop")

    ran.refuses(1, "no step is named 'tow'; did you mean 'two'?")
    assert project.bridge.workflows.status() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["activate"], "activate NAME --param"),
        (["activate", "loop", "--session", "t"], "session 't' is not open here"),
        (["status", "loop"], "status takes no 'loop'"),
        (["list", "--param", "a=1"], "--param is for: hostbridge workflow activate"),
        (["status", "--agent", "a"], "--agent is for: hostbridge workflow end"),
    ],
)
@pytest.mark.usefixtures("file", "client")
def test_error_words_that_mean_nothing(project, words, said):
    project.run("workflow", *words).refuses(2, said)


@pytest.mark.usefixtures("file", "client")
def test_a_broken_record_is_shown_and_ended(project):
    project.run("workflow", "activate", "loop")
    path = project.bridge.store.place.state / "sessions" / "s-1.steps.json"
    path.write_text("{")

    shown = project.run("workflow", "status")
    ended = project.run("workflow", "end")

    shown.tells(1, "s-1.steps.json: cannot be read")
    assert (ended.code, "was put aside" in ended.out) == (0, True)
    assert not path.exists()
    assert project.run("workflow", "status").code == 0
