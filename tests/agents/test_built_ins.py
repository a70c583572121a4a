"""The definitions that come along: in order, honest in their examples, well fenced."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from runworld import ScriptedEngine

from bridge.agents.grants import is_granted
from bridge.agents.loading import Loaded, load
from bridge.config import Settings
from bridge.errors import InvalidRequest
from bridge.protocol.contract import answer_schema
from bridge.protocol.json_schema import problem_of
from bridge.protocol.request import Request
from bridge.runner.grants import Grants, NotGranted
from bridge.runner.job import Job
from bridge.runner.project import Project
from bridge.runner.scripts import Sandbox
from bridge.runner.toolbox import toolbox_of
from bridge.shipped import agents_folder
from bridge.spawner.bridge import Bridge

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.runner.tool import Tool

NAMES = (
    "researcher",
    "validation-runner",
    "validator-integration",
    "validator-logic",
    "validator-security",
    "validator-syntax",
)
JUDGES = ("validator-logic", "validator-security")


def loaded(name: str) -> Loaded:
    return load(agents_folder() / f"{name}.yaml", "built-in")


def definition_of(name: str) -> Definition:
    found = loaded(name).definition
    assert found is not None
    return found


def tools_of(definition: Definition, folder: Path) -> dict[str, Tool]:
    """What a small model is offered."""
    job = Job(
        request=Request(request_id="r-1", prompt="x"),
        definition=definition,
        engine=ScriptedEngine([""], is_small=True),
        project=folder,
        deadline_s=time.monotonic() + 9,
    )
    with Sandbox() as sandbox:
        return toolbox_of(job, Project(folder), sandbox).tools


def test_these_come_along() -> None:
    assert tuple(sorted(f.stem for f in agents_folder().glob("*.*"))) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_is_in_order(name: str) -> None:
    """No problem and no warning; says what it is for, and shows a small model how."""
    found = loaded(name)

    assert (found.name, found.problems) == (name, ())
    assert found.definition is not None
    assert found.definition.description
    assert found.definition.examples


@pytest.mark.parametrize("name", NAMES)
def test_its_examples_are_what_they_show(name: str, tmp_path: Path) -> None:
    """An example that a tool or the answer's schema refuses teaches nonsense."""
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


@pytest.mark.parametrize("name", NAMES)
def test_it_changes_nothing(name: str, tmp_path: Path) -> None:
    """None may write, and what it may run is named."""
    definition = definition_of(name)

    assert set(definition.tools or ()) <= {"Read", "Grep", "Glob", "Bash"}
    assert "Bash" not in definition.allow
    assert set(tools_of(definition, tmp_path)) <= {
        "read_file",
        "list_files",
        "search_text",
        "run_command",
    }


def test_who_runs_a_check_must_show_it() -> None:
    must = {name for name in NAMES if definition_of(name).require_verified_evidence}

    assert must == {"validation-runner", "validator-integration", "validator-syntax"}


GRANTED = {
    "validation-runner": (
        "pytest",
        "pytest -q tests/billing",
        "python -m pytest -x",
        "ruff check src",
        "mypy",
        "make test",
        "npm test",
        "cargo test --all",
    ),
    "validator-syntax": (
        "python -m py_compile a.py",
        "node --check a.js",
        "bash -n deploy.sh",
        "ruff check --select E9 a.py",
    ),
    "validator-integration": ("pytest -q", "npm test", "git diff HEAD~1"),
    "validator-logic": ("git diff", "git show HEAD", "pytest -q"),
    "validator-security": ("git log -3",),
}
REFUSED = (
    "pytest; rm x",
    "pytest && rm x",
    "pytest $(rm x)",
    "pytest > x",
    "pytest\nrm x",
    "pytests",
    "rm x",
    "ruff check",
    "ruff check --fix src",
    "python -m py_compile a.py; rm x",
    "python -c 1",
    "bash deploy.sh",
    "node a.js",
    "git push",
    "git diff | sh",
    "npm install",
    "make install",
)
# What one of them may run, and no other should.
OWN = {"validation-runner": ("ruff check", "ruff check --fix src")}


def grants_command(allow: tuple[str, ...], command: str) -> bool:
    """As the hooks ask."""
    given = {"command": command}
    return is_granted(allow, "Bash", given, project="/", resolve=lambda path: path)


@pytest.mark.parametrize("name", NAMES)
def test_what_it_may_run(name: str) -> None:
    """By both readers of the rules: the hooks' and the loop's."""
    allow = definition_of(name).allow
    grants = Grants(allow)

    for command in GRANTED.get(name, ()):
        assert grants_command(allow, command), command
        assert grants.argv(command), command
    for command in set(REFUSED) - set(OWN.get(name, ())):
        assert not grants_command(allow, command), command
        with pytest.raises(NotGranted):
            grants.argv(command)


@pytest.mark.parametrize("name", JUDGES)
def test_error_a_small_model_may_not_judge(name: str, tmp_path: Path) -> None:
    """Refused by name before anything is asked."""
    bridge = Bridge(Settings(home=tmp_path / "home"), tmp_path)

    with pytest.raises(InvalidRequest) as refused:
        bridge.ask("The change to a.py", name, route="local")

    assert str(refused.value) == (
        f"agent {name!r} does not take the route local; it takes host or claude or "
        "endpoint"
    )
    assert bridge.overview().waiting == 0


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(JUDGES)))
def test_the_others_take_every_route(name: str) -> None:
    assert definition_of(name).routes == ("host", "claude", "local", "endpoint")
