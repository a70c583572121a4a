"""The built-in agents: valid, good examples, and granted only what they need."""

import time
from typing import Any

import pytest
from built_in_agents import NAMES, definition_of, load_built_in
from runworld import ScriptedModel

from bridge.agent_loop.job import Job
from bridge.agent_loop.script_tools import Sandbox
from bridge.agent_loop.toolbox import Toolbox
from bridge.agent_loop.workspace import Project
from bridge.agents.registry import Registry
from bridge.agents.search_tools import OF_TASKS as OF_READING
from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.errors import InvalidRequest
from bridge.protocol.contract import answer_schema
from bridge.protocol.json_schema import problem_of
from bridge.protocol.request import Request
from bridge.shipped import agents_folder

# They may write; each other one changes nothing.
WRITERS = ("developer", "merge", "task-ops")
JUDGES = ("validator-logic", "validator-security")


def tools_of(definition, folder):
    """The tools that a small model gets."""
    job = Job(
        request=Request(request_id="r-1", prompt="x"),
        definition=definition,
        model=ScriptedModel([""], is_small=True),
        project=folder,
        deadline_s=time.monotonic() + 9,
    )
    with Sandbox() as sandbox:
        return Toolbox(job, Project(folder), sandbox).tools


def test_the_built_in_agents():
    assert tuple(sorted(f.stem for f in agents_folder().glob("*.yaml"))) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_is_valid(name):
    """No problem and no warning; with a description, and examples for a small model."""
    found = load_built_in(name)

    assert (found.name, found.problems) == (name, ())
    assert found.definition.description
    assert found.definition.examples


@pytest.mark.parametrize("name", NAMES)
def test_its_examples_are_valid(name, tmp_path):
    """A small model would copy an example that a tool or the schema refuses."""
    definition = definition_of(name)
    tools = tools_of(definition, tmp_path)
    schema = answer_schema(definition.output_schema)

    problems: list[Any] = [
        problem_of(tools[made.tool].parameters, made.arguments)
        for example in definition.examples
        for made in example.calls
    ]
    problems += [problem_of(schema, each.answer) for each in definition.examples]

    assert set(problems) == {None}


@pytest.mark.parametrize("name", sorted({*NAMES} - {*WRITERS}))
def test_it_changes_nothing(name, tmp_path):
    """It may not write, and each command that it may run is listed."""
    definition = definition_of(name)

    tools = set(definition.tools or ())
    assert tools - OF_READING <= {"Read", "Grep", "Glob", "Bash"}
    assert set(definition.allow) & tools <= OF_READING
    assert "Bash" not in definition.allow
    small = {"read_file", "list_files", "search_text", "run_command"}
    assert set(tools_of(definition, tmp_path)) <= small


def test_agents_that_run_checks_need_verified_evidence():
    must = {name for name in NAMES if definition_of(name).require_verified_evidence}

    assert must == {"validation-runner", "validator-integration", "validator-syntax"}


@pytest.mark.parametrize("name", JUDGES)
def test_error_a_local_model_may_not_judge(name, tmp_path):
    """Refused before anything is asked."""
    bridge = Bridge(Settings(home=tmp_path / "home"), tmp_path)

    with pytest.raises(InvalidRequest) as refused:
        bridge.ask("The change to a.py", name, route="local")

    assert str(refused.value) == (
        f"agent {name!r} does not take the route local; it takes host or claude or "
        "endpoint"
    )
    assert bridge.overview().waiting == 0


@pytest.mark.parametrize("name", sorted({*NAMES} - {*JUDGES, "task-ops"}))
def test_the_others_take_every_route(name):
    routes = definition_of(name).routes

    assert sorted(routes) == ["claude", "endpoint", "host", "local"]


def test_task_ops_is_the_one_of_the_seed():
    """As its plan prints it: which workflows it has, and where they act."""
    definition = definition_of("task-ops")

    assert (definition.provider, definition.mode) == ("claude", "terminal")
    assert definition.default_workflow == "expansion"
    assert {key: dict(each) for key, each in definition.workflows.items()} == {
        "expansion": {"file": "task-expansion.yaml", "mode": "self"},
        "validation": {"file": "task-validation.yaml", "mode": "self"},
    }
    assert definition.takes("claude")


def test_the_researcher_is_a_process_of_its_own():
    """Read-only, a minute, ten turns; the settings say otherwise where they do."""
    definition = definition_of("researcher")

    assert (definition.provider, definition.mode) == ("claude", "headless")
    assert (definition.timeout_s, definition.max_turns) == (60, 10)
    assert {"Read", "Glob", "Grep"} <= {*(definition.tools or ())}
    assert {"Edit", "Write", "NotebookEdit", "Agent"} <= {*definition.blocked_tools}


def test_the_settings_limit_the_research_agent(tmp_path):
    """Whichever it is; another agent keeps what its definition says."""
    said = {"AGENT": "merge", "TIMEOUT": "90", "MAX_TURNS": "12"}
    env = {f"BRIDGE_RESEARCH_{name}": each for name, each in said.items()}
    settings = Settings.from_environment(env | {"HOME": str(tmp_path)})
    registry = Registry.open(settings, tmp_path)

    merge, researcher = registry.find("merge"), registry.find("researcher")

    assert (merge.timeout_s, merge.max_turns) == (90, 12)
    assert (researcher.timeout_s, researcher.max_turns) == (60, 10)
