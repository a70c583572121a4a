"""`hostbridge vars`, in a terminal of one's own and in a session."""

import re

import pytest
from screens import on_terminal

from bridge.errors import InvalidRequest
from bridge.policy.condition_compiler import compile_condition

pytestmark = [pytest.mark.usefixtures("client"), pytest.mark.slow]

RULES = """
variables: {switch: haiku, limit: 3}
on_stop:
  - name: test-first
    when: variables.untested
    increment_variable: reminded
"""


@pytest.fixture
def client(home, client):  # noqa: ARG001 - the rules come first
    return client


def test_variables_need_a_session(project, client):
    client.kill()
    client.wait()
    project.run("vars", "set", "a=1").refuses(2, "no session is open here")


def test_what_rules_declare_is_there_from_the_beginning(project):
    ran = project.run("vars")
    value = project.run("vars", "get", "switch", "limit")
    missing = project.run("vars", "get", "nothing")

    file = f"{project.bridge.settings.home}/rules.yaml"
    assert [line.split("\t") for line in ran.out.splitlines()] == [
        ["NAME", "VALUE", "FROM"],
        ["limit", "3", file],
        ["require_task_before_edit", "false", "built-in"],
        ["switch", '"haiku"', file],
        ["validation_model", "null", "built-in"],
    ]
    assert (value.code, value.out) == (0, "haiku\n3\n")
    assert project.run("vars", "get", "switch", "--json").out == '"haiku"\n'
    shown = on_terminal(project, "vars", columns=80)
    assert re.search('^switch +"haiku" +~/.hostbridge/rules.yaml$', shown, re.M)
    assert (missing.code, missing.out) == (1, "null\n")


def test_a_person_sets_anything_and_unset_gives_the_first_value_back(project):
    said = project.run("vars", "set", "switch:=null", "task=a b").out
    changed = project.bridge.variables().all()
    listed = project.run("vars").out
    forgot = project.run("vars", "unset", "switch", "task").out
    again = project.bridge.variables().all()

    assert (changed["switch"], changed["task"]) == (None, "a b")
    assert (again["switch"], "task" in again) == ("haiku", False)
    assert said == 'switch = null\ntask = "a b"\n'
    assert "switch\tnull\tset by you\n" in listed
    assert forgot == 'switch = "haiku"\ntask = not set\n'


def test_the_beginning_of_a_sessions_id_is_enough(project):
    assert project.run("vars", "get", "switch", "--session", "s").out == "haiku\n"
    assert project.run("vars", "get", "switch", "--session", "t").code == 2
    assert repr(project.bridge.variables("s")) == "<Variables of session s-1>"


@pytest.mark.parametrize("value", ["null", "true", "false"])
def test_error_a_word_that_would_be_a_text(project, value):
    ran = project.run("vars", "set", f"switch={value}")

    assert (ran.code, project.run("vars", "get", "switch").out) == (2, "haiku\n")
    assert f"for the value: switch:={value}" in ran.err


def test_inside_a_session_only_a_models_own_can_be_set(project, client):
    """A model must not null the switch of a rule that binds it."""
    inside = {"CLAUDECODE": "1", "CLAUDE_PID": str(client.pid)}
    refused = project.run("vars", "set", "switch:=null", env=inside)
    done = project.run("vars", "set", "task=mine", env=inside)
    known = project.bridge.variables().known()

    refused.refuses(1, "switch belongs to the person")
    assert done.code == 0
    assert known["task"].owner == "model"
    assert known["switch"].value == "haiku"


@pytest.mark.parametrize("name", ["command", "tool_name", "len", "and"])
def test_a_name_that_conditions_use_is_refused(project, name):
    project.run("vars", "set", f"{name}=1").refuses(2, "rename the variable")


def test_what_a_session_asks_has_its_variables(project, client):
    """Parent ⊕ definition ⊕ call; null survives."""
    inside = {"CLAUDE_PID": str(client.pid)}
    project.run("vars", "set", "a=session", "b=session")
    project.run("vars", "set", "c=session", env=inside)
    text = "name: child\nlifecycle_variables: {b: null}\n"
    project.write("agents/child.yaml", text, own=True)

    words = ("submit", "child", "Go.", "--var", "c=call")
    inside = project.run(*words, env=inside)
    outside = project.run(*words)

    def variables(ran):
        return project.bridge.status(ran.out.strip()).request.variables

    assert variables(inside) == {"a": "session", "b": None, "c": "call"}
    assert variables(outside) == {"b": None, "c": "call"}


THEIRS = {
    "switch": r"switch belongs to the person \(.*/rules.yaml\):",
    "reminded": r"reminded belongs to the rule test-first \(.*/rules.yaml:4\):",
    "checked": "checked belongs to the person:",
}


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize(
    "words", [("submit", "Go.", "--var"), ("ask", "Go.", "--var"), ("vars", "set")]
)
def test_error_a_model_gives_an_agent_what_it_may_not_set(project, client, words, name):
    """Neither to itself nor to an agent: a rule that binds it would not."""
    project.run("vars", "set", "checked=no")
    given = f"{name}:=null"
    refused = project.run(*words, given, env={"CLAUDE_PID": str(client.pid)})

    assert refused.code == 1
    assert re.search(THEIRS[name], refused.err)
    assert project.bridge.overview().requests == ()


def test_a_person_gives_an_agent_anything(project):
    ran = project.run("submit", "Go.", "--var", "switch:=null", "--var", "reminded=9")

    request = project.bridge.status(ran.out.strip()).request
    assert request.variables == {"switch": None, "reminded": "9"}


@pytest.mark.usefixtures("home")
def test_error_also_by_the_first_request_of_a_project(project):
    """No hook has compiled the rules yet."""
    words = ("submit", "Go.", "--var", "switch:=null")
    refused = project.run(*words, env={"CLAUDECODE": "1"})

    refused.refuses(1, "switch belongs to the person (")


def test_rules_are_tested_with_the_variables_of_a_session(project):
    def answer(*more):
        return project.run("rules", "test", "--event", "on_stop", "--json", *more).json

    project.run("vars", "set", "untested:=true", "reminded:=4")

    assert answer()["variables"] == {}
    assert answer("--session", "s-")["variables"] == {"reminded": 5}
    assert answer("--session", "s-1", "--var", "untested:=false")["variables"] == {}
    assert "(open: s-1)" in project.run("rules", "test", "--session", "x", *TESTED).err


TESTED = ["--command", "ls"]


@pytest.mark.parametrize("name", ["a b", "1", "a.b", "-a", "a-", "a\nb", ""])
def test_error_what_can_name_no_variable(project, name):
    """No condition could ask for it by this name."""
    ran = project.run("vars", "set", "--", f"{name}=1")
    asked = project.run("submit", "researcher", "Why?", f"--var={name}=1")
    with pytest.raises(InvalidRequest, match="is no name of a variable: it begins"):
        project.bridge.variables().change({name: 1})

    if name:
        assert "is no name of a variable: it begins with a letter or _" in ran.err
        assert "is no name of a variable: it begins" in asked.err
    assert (ran.code, asked.code) == (2, 2)


@pytest.mark.parametrize("name", ["a", "é_1", "run-tests", "_x"])
def test_what_conditions_can_ask_for_can_be_set(project, name):
    assert project.run("vars", "set", f"{name}=1").code == 0
    assert compile_condition(name).code[2] == name
