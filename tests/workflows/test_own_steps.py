"""Steps in an agent's own file: read, checked and begun as those of a file are."""

import json

import pytest
from agentworld import trust_project

from bridge import Bridge
from bridge.agents.load import load
from bridge.bound.conversations import compiled
from bridge.cli.main import run
from bridge.errors import BridgeError, InvalidRequest, NotTrusted
from bridge.protocol.request import WorkflowOf
from bridge.workflows.own_steps import read_steps

FIXER = """\
name: fixer
prompt: Mend {{ task }}
variables: {seen: false}
steps:
  - name: look
    allowed_tools: [Read]
    transitions: [{to: mend, when: seen}]
  - {name: mend}
exit_condition: current_step == 'mend'
"""


MISSPELT = FIXER.replace("when: seen", "when: sen")


def found_in(tmp_path, text):
    file = tmp_path / "fixer.yaml"
    file.write_text(text)
    loaded = load(file, "user")
    return loaded, read_steps(loaded.steps)


def test_they_are_a_whole_workflow(tmp_path):
    loaded, read = found_in(tmp_path, FIXER)

    assert loaded.problems == read.problems == ()
    assert (read.name, read.step_names) == ("fixer", ("look", "mend"))
    assert read.compiled()["variables"] == {"seen": False}


def test_others_call_the_variables_so(tmp_path):
    text = FIXER.replace("variables:", "step_variables:")
    loaded, read = found_in(tmp_path, text.replace("when: seen", "when: a"))

    assert loaded.problems == ()
    [error] = read.errors
    assert str(error).startswith(f"{read.file}:7:36: steps[0].transitions[0].when: unk")
    assert [p.line for p in read.problems if p.level == "warning"] == [3]


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        ("workflow: other", 10, "workflow: this agent has `steps`: they are its work"),
        ("workflows: {a: {file: a.yaml}}", 10, "workflows: this agent has `steps`: "),
        ("step_variables: {}", 10, "step_variables: is what `variables` is: keep one"),
    ],
)
def test_error_two_workflows(tmp_path, more, line, said):
    loaded, _ = found_in(tmp_path, f"{FIXER}{more}\n")

    [error] = loaded.errors
    assert error.line == line
    assert str(error).partition(": ")[2].startswith(said)


@pytest.mark.parametrize("fields", ["exit_condition: seen", "variables: {a: 1}"])
def test_error_what_belongs_to_steps_without_any(tmp_path, fields):
    file = tmp_path / "fixer.yaml"
    file.write_text(f"name: fixer\nprompt: a\n{fields}\n")

    loaded = load(file, "user")

    assert loaded.steps is None
    assert [(p.line, p.message[:13]) for p in loaded.errors] == [(3, "unknown field")]


@pytest.fixture
def world(tmp_path, monkeypatch):
    """The home of a user and a project, and a bridge."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir(mode=0o700)
    project.mkdir()
    monkeypatch.setenv("BRIDGE_HOME", str(home))
    monkeypatch.chdir(project)
    return Bridge.open()


def define(bridge, text=FIXER, *, in_project=False):
    settings, project = bridge.settings, bridge.store.place.project
    folder = project / ".bridge" if in_project else settings.home
    folder = folder / "agents"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "fixer.yaml").write_text(text)
    layer = "project" if in_project else "user"
    of = WorkflowOf(name="fixer", layer=layer, in_agent=True)
    return lambda: compiled(settings, project, of)


@pytest.mark.parametrize("agent", ["fixer", "gentle"])
def test_a_request_has_the_steps_of_its_agent(world, agent):
    """So does an agent that stands on it."""
    begin = define(world)
    derived = "---\nname: gentle\ndescription: x\nbase: fixer\n---\nGently.\n"
    (world.settings.home / "agents" / "gentle.md").write_text(derived)

    asked = world.submit("it", agent=agent, route="host")

    [record] = world.store.place.state.rglob(f"requests/{asked}.json")
    applied = json.loads(record.read_text())["definition"]
    assert applied["workflow"] == {"name": "fixer", "layer": "user", "inAgent": True}
    assert begin()["steps"]["look"]["gate"]["tools"] == ["Read"]


def test_error_steps_with_a_mistake_are_not_asked(world):
    define(world, MISSPELT)
    with pytest.raises(BridgeError, match=r"unknown name 'sen'; did you mean 'seen'"):
        world.submit("it", agent="fixer", route="host")


def test_error_steps_that_have_gone(world):
    begin = define(world)
    define(world, "name: fixer\nprompt: a\n")

    with pytest.raises(InvalidRequest, match="'fixer' has no steps in its file"):
        begin()


def test_a_projects_steps_count_after_trust(world):
    begin = define(world, in_project=True)
    with pytest.raises(NotTrusted):
        begin()
    trust_project(world)
    assert begin()["name"] == "fixer"

    define(world, FIXER.replace("[Read]", "all"), in_project=True)

    with pytest.raises(NotTrusted):
        begin()


@pytest.mark.parametrize("command", [["agents"], ["agents", "show", "fixer"]])
def test_a_mistake_in_them_is_told_wherever_an_agent_is_shown(world, capsys, command):
    define(world, MISSPELT)

    assert run(command) == 1
    assert "unknown name 'sen'" in " ".join(capsys.readouterr().out.split())


def test_broken_steps_of_a_project_stay_untrusted(world, capsys):
    define(world, MISSPELT, in_project=True)
    run(["trust", "--show"])

    said = " ".join("".join(capsys.readouterr()).split())
    assert "fixer: cannot be used" in said
    assert "unknown name 'sen'" in said


def test_check_and_show(world, capsys):
    define(world, FIXER.replace("{name: mend}", "{name: ment}"))

    assert run(["agents", "check"]) == 1
    said = capsys.readouterr().out
    why = "steps[0].transitions[0].to: no step is named 'mend'"
    assert f"fixer.yaml:7:20: {why}" in said

    define(world)
    assert run(["agents", "show", "fixer"]) == 0
    said = capsys.readouterr().out
    assert "works through these steps:\n" in said
    assert "when: seen" in said
