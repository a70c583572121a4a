"""Subagent definitions, to the letter of their format."""

# ruff: noqa: E501 - whole messages, one a line

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import runworld

import bridge
from bridge.agents.cst_node import NODE_NAMES, node_scope
from bridge.agents.reading import resolve_path
from bridge.agents.subagent import InitialContext, load_subagent_definition
from bridge.agents.templates import TemplateFailed
from bridge.errors import BadDefinition
from bridge.protocol.request import Node

if TYPE_CHECKING:
    from agentworld import World

LINT = """\
name: lint
model: models/lint.gguf
initial_context:
  system_prompt: You are a linter.
  node_context: |
    {{ node_type }} {{ node_name }} in {{ file_path }}:
    {{ node_text }}
tools:
  - name: run_linter
    pym: tools/run.pym
    description: Runs the linter
    parameters: {type: object, properties: {}, additionalProperties: false}
    context_providers: [tools/config.pym]
  - name: submit_result
    pym: tools/submit.pym
    description: Ends the run
    parameters:
      type: object
      additionalProperties: false
      required: [summary]
      properties: {summary: {type: string}}
"""
NODE = SimpleNamespace(
    text="def f(): ...",
    name="f",
    node_type="function_definition",
    file_path=Path("src/{{ x }}.py"),
)


@pytest.fixture
def lint(world: World) -> Path:
    for name in ("models/lint.gguf", "tools/run.pym", "tools/config.pym"):
        world.write(name, f"# {name}\n")
    world.write("tools/submit.pym", "submit()\n")
    return world.write("lint.yaml", LINT)


def test_a_valid_file(lint: Path) -> None:
    definition = load_subagent_definition(lint, lint.parent)

    tools = lint.parent / "tools"
    assert (definition.name, definition.max_turns) == ("lint", 20)
    assert definition.model == lint.parent / "models" / "lint.gguf"
    assert [tool.pym for tool in definition.tools] == [
        tools / "run.pym",
        tools / "submit.pym",
    ]
    assert definition.tools_by_name["run_linter"].context_providers == [
        tools / "config.pym"
    ]


def test_tool_schemas_have_the_form_of_the_api(lint: Path) -> None:
    definition = load_subagent_definition(lint, lint.parent)

    first, second = definition.tool_schemas
    assert first == {
        "type": "function",
        "function": {
            "name": "run_linter",
            "description": "Runs the linter",
            "parameters": {
                "type": "object",
                "properties": {},
                "additionalProperties": False,
            },
            "strict": True,
        },
    }
    assert second["function"]["name"] == "submit_result"


def test_render_fills_in_the_node(lint: Path) -> None:
    """And nothing in the node is filled in again."""
    context = load_subagent_definition(lint, lint.parent).initial_context

    assert context.render(NODE) == (
        "function_definition f in src/{{ x }}.py:\ndef f(): ..."
    )


def test_a_node_of_a_request_is_one_to_render(lint: Path) -> None:
    """A runner of one's own says of it what the routes say."""
    node = Node(file="src/a.py", name="f", type="function", line=3, text="def f(): ...")

    told = bridge.load_subagent_definition(lint, lint.parent).initial_context

    assert told.render(node) == "function f in src/a.py:\ndef f(): ..."
    assert set(node_scope(node)) == NODE_NAMES


@pytest.mark.parametrize("template", ["{{ node }}", "{{ node_text.__class__ }}"])
def test_error_render_is_strict_and_happens_at_run_time(template: str) -> None:
    context = InitialContext(system_prompt="s", node_context=template)

    with pytest.raises(TemplateFailed):
        context.render(NODE)


def test_the_same_in_the_registry(world: World, lint: Path) -> None:
    """The scripts are there as they were read: nothing reads them again."""
    definition = world.registry.find("lint")

    assert definition is not None
    run, submit = definition.script_tools
    assert (run.code, run.provider_codes) == (
        "# tools/run.pym\n",
        ("# tools/config.pym\n",),
    )
    assert (submit.code, definition.output_schema) == ("submit()\n", submit.parameters)
    assert definition.routes == ("local", "endpoint")
    assert definition.model == str(lint.parent / "models" / "lint.gguf")
    assert definition.source.spelling == "subagent"


CHECKED = """
for command in ('test -e fixed', 'touch fixed', 'test -e fixed'):
  ended = run_command(command)['exit_code']
ended
"""
GRANTED = "allow: ['run_command(test *)', 'Bash(touch *)']\ninitial_context:"


@pytest.mark.parametrize("tool", ["run_linter", "submit_result"])
def test_its_scripts_run_what_it_grants(world: World, lint: Path, tool: str) -> None:
    """They could call run_command, and no definition of theirs could grant one."""
    script = "tools/run.pym" if tool == "run_linter" else "tools/submit.pym"
    world.write("tools/submit.pym", "'ok'")
    world.write(script, CHECKED)
    lint.write_text(LINT.replace("initial_context:", GRANTED))
    definition = world.registry.find("lint")
    run = runworld.World(world.project)
    calls = [runworld.call("run_linter")] if tool == "run_linter" else []

    outcome = run.run(
        *calls, runworld.call("submit_result", summary="done"), agent=definition
    )

    assert definition is not None
    assert definition.allow == ("Bash(test *)", "Bash(touch *)")
    assert (outcome.verdict.code, outcome.verdict.parsed) == (None, {"summary": "done"})
    called = "call-1" if tool == "run_linter" else "submit-1"
    told = [(e.command, e.passed) for e in outcome.summary.evidence if e.command]
    ids = {e.tool_use_id for e in outcome.summary.evidence if e.command}
    assert (told, ids) == (
        [("test -e fixed", False), ("touch fixed", True), ("test -e fixed", True)],
        {called},
    )


@pytest.mark.usefixtures("lint")
def test_error_grants_that_mean_nothing(world: World) -> None:
    rules = "allow: ['Bash(x', Edit, Bash]\ninitial_context:"

    assert problems(world, "initial_context:", rules) == [
        "lint.yaml:3: allow[0]: 'Bash(x': expected Tool or Tool(what), such as Bash(pytest *)",
        "lint.yaml:3: warning: allow[1]: grants nothing: its scripts run commands, and no other tool",
        "lint.yaml:3: warning: allow[2]: grants every command; say which, such as Bash(pytest *)",
    ]


@pytest.mark.usefixtures("lint")
def test_a_run_of_it_has_its_own_tools_alone(world: World) -> None:
    """Its project's files are what its scripts make of them, and no more."""
    run = runworld.World(world.project)

    run.run(runworld.submit(), agent=world.registry.find("lint"))

    listed = run.engine.asked[0][0].content.partition("Tools:\n")[2].splitlines()
    assert [line.split()[0].partition("(")[0] for line in listed] == [
        "run_linter",
        "submit_result",
    ]


def problems(world: World, old: str, new: str) -> list[str]:
    text = LINT.replace(old, new, 1)
    assert text != LINT
    told = world.problems("lint.yaml", text)
    return [each.replace(str(world.folders["user"]), "DIR") for each in told]


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "name: submit_result",
            "name: submit",
            [
                "lint.yaml:8: tools: expected exactly one tool named submit_result, got 0"
            ],
        ),
        (
            "name: run_linter",
            "name: submit_result",
            [
                "lint.yaml:8: tools: expected exactly one tool named submit_result, got 2"
            ],
        ),
        (
            "tools/run.pym",
            "tools/runn.pym",
            [
                (
                    "lint.yaml:10: tools[0].pym: DIR/tools/runn.pym: no such file or "
                    "directory"
                )
            ],
        ),
        (
            "[tools/config.pym]",
            "[tools/config.pym, gone.pym]",
            [
                (
                    "lint.yaml:13: tools[0].context_providers[1]: DIR/gone.pym: no such "
                    "file or directory"
                )
            ],
        ),
        (
            "models/lint.gguf",
            "models/gone.gguf",
            ["lint.yaml:2: warning: model: there is no DIR/models/gone.gguf yet"],
        ),
        (
            "models/lint.gguf",
            "haiku",
            ["lint.yaml:2: model: expected a file ending in .gguf, got 'haiku'"],
        ),
        (
            ", additionalProperties: false}",
            "}",
            [
                (
                    "lint.yaml:12: warning: tools[0].parameters: without "
                    "additionalProperties: false a model may add fields"
                )
            ],
        ),
        (
            "{type: object, properties: {}, additionalProperties: false}",
            "{properties: {}}",
            [
                (
                    "lint.yaml:12: tools[0].parameters: not the JSON Schema of an object: "
                    "expected type: object, got nothing"
                )
            ],
        ),
        (
            "{type: object, properties: {}, additionalProperties: false}",
            "{type: objekt}",
            [
                (
                    "lint.yaml:12: tools[0].parameters: not the JSON Schema of an object: "
                    "$.type: 'objekt' is not valid under any of the given schemas"
                )
            ],
        ),
        (
            "{{ node_text }}",
            "{{ node_txt }}",
            [
                (
                    "lint.yaml:5: warning: initial_context.node_context: only the call can "
                    "give 'node_txt' a value, and without one it fails; did you mean "
                    "'node_text' or 'node_type'?"
                )
            ],
        ),
        (
            "    description: Ends the run\n",
            "    descripton: Ends the run\n",
            [
                "lint.yaml:14: tools[1].description: is missing",
                (
                    "lint.yaml:16: tools[1].descripton: unknown field; did you mean "
                    "'description'?"
                ),
            ],
        ),
    ],
)
def test_error_in_a_subagent_definition(
    world: World, old: str, new: str, told: list[str]
) -> None:
    assert problems(world, old, new) == told


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize(
    ("name", "near"),
    [("max-lines", "max_lines"), ("class", "class_"), ("2nd", "_2nd")],
)
def test_error_a_parameter_that_no_script_could_name(
    world: World, name: str, near: str
) -> None:
    """The sandbox refuses such a name, so that every call with it would fail."""
    told = problems(
        world, "properties: {}", f"properties: {{{name}: {{}}, match: {{}}}}"
    )

    assert told == [
        (
            f"lint.yaml:12: tools[0].parameters.properties.{name}: a script has each "
            f"parameter by its name, and {name!r} is no name in Python; such as {near!r}"
        )
    ]


BAD_PATHS = {
    '"~nosuchuser/x.gguf"': "'~nosuchuser/x.gguf': nobody's home: there is no such user",
    r'"a\0b.gguf"': r"'a\x00b.gguf': a path holds no NUL",
}


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize("written", BAD_PATHS)
@pytest.mark.parametrize("field", ["pym", "context_providers", "model"])
def test_error_a_path_that_names_no_place(
    world: World, field: str, written: str
) -> None:
    """An untrusted file with one ended every command of the project with a bug."""
    olds = {
        "pym": ("tools/run.pym", "tools[0].pym", 10),
        "context_providers": ("tools/config.pym", "tools[0].context_providers[0]", 13),
        "model": ("models/lint.gguf", "model", 2),
    }
    old, place, line = olds[field]

    told = problems(world, old, written)

    assert told == [f"lint.yaml:{line}: {place}: {BAD_PATHS[written]}"]


def test_error_that_nobody_thought_of_is_a_problem_of_its_file(
    world: World, lint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one file brings about, the other definitions still load."""

    def fail(path: object) -> str:
        if str(path).endswith("lint.gguf"):
            raise OSError(f"no place for {path}")
        return known(path)

    known: Any = os.path.abspath

    world.write("b.yaml", "name: b\nprompt: '{{ task }}'\n")
    monkeypatch.setattr("os.path.abspath", fail)

    told = {e.loaded.name: e.loaded.problems for e in world.registry.entries()}

    assert told.keys() == {"b", "lint"}
    (problem,), none = told["lint"], told["b"]
    assert (problem.file, problem.line, problem.message, none) == (
        lint,
        1,
        f"cannot be read as a definition: no place for {lint.parent}/models/lint.gguf",
        (),
    )


def test_error_without_submit_result_has_its_code(lint: Path) -> None:
    lint.write_text(LINT.replace("submit_result", "submit"))

    with pytest.raises(BadDefinition) as failed:
        load_subagent_definition(lint, lint.parent)

    assert failed.value.code == "AGENT_001"
    assert str(failed.value) == (
        "agent 'lint' cannot be used:\n"
        f"  {lint}:8: tools: expected exactly one tool named submit_result, got 0"
    )


def test_error_two_tools_of_one_name(world: World, lint: Path) -> None:
    extra = LINT[LINT.index("  - name: run_linter") : LINT.index("  - name: submit")]
    lint.write_text(LINT.replace("tools:\n", f"tools:\n{extra}", 1))

    with pytest.raises(BadDefinition, match="there is a tool named 'run_linter'"):
        world.registry.find("lint")


@pytest.mark.parametrize(
    ("relative", "absolute"),
    [
        ("a.pym", "/x/y/a.pym"),
        ("../a.pym", "/x/a.pym"),
        ("./b/../a.pym", "/x/y/a.pym"),
        ("/z/a.pym", "/z/a.pym"),
        ("~/a.pym", "/home/u/a.pym"),
    ],
)
def test_paths_are_told_from_the_folder(
    monkeypatch: pytest.MonkeyPatch, relative: str, absolute: str
) -> None:
    monkeypatch.setenv("HOME", "/home/u")

    assert resolve_path(Path("/x/y"), relative) == Path(absolute)


@pytest.mark.parametrize("how", ["dots", "absolute", "link", "linked folder"])
def test_error_a_project_names_nothing_outside(
    world: World, tmp_path: Path, how: str
) -> None:
    """A clone could read, and show to a model, whatever its user can read."""
    folder = world.folders["project"]
    for name in ("models/lint.gguf", "tools/config.pym", "tools/submit.pym"):
        world.write(name, "x", "project")
    secret = tmp_path / "secret" / "run.pym"
    secret.parent.mkdir()
    secret.write_text("secret")
    named = {
        "dots": "../../../secret/run.pym",
        "absolute": str(secret),
        "link": "tools/run.pym",
        "linked folder": "linked/run.pym",
    }[how]
    (folder / "tools" / "run.pym").symlink_to(secret)
    (folder / "linked").symlink_to(secret.parent)

    found = world.load("lint.yaml", LINT.replace("tools/run.pym", named), "project")

    [problem] = found.errors
    assert problem.message.endswith(f"leaves {folder}, where all of it must lie")
    assert problem.path == "tools[0].pym"
    assert secret not in found.digests


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = (\n1\n", "3: not a script: unexpected EOF while parsing"),
        ("\ndef f(:\n    pass", "2: not a script: Expected a parameter or the end of the parameter list"),
        ("if path:\n    break", "2: not a script: 'break' outside loop"),
        ("x = 1\ndel x", "2: not a script: The monty syntax parser does not yet support the 'del' statement"),
        ("(" * 10_000, "1: not a script: Source is too deeply nested"),
    ],
    ids=["open", "syntax", "break", "unsupported", "deep"],
)  # fmt: skip
def test_error_a_script_that_the_sandbox_cannot_read(
    world: World, code: str, told: str
) -> None:
    """At its own line, before a model is blamed for it; for a run just the same."""
    pytest.importorskip("pydantic_monty")
    script = world.write("tools/config.pym", code)

    assert world.problems("lint.yaml", LINT) == [f"tools/config.pym:{told}"]
    with pytest.raises(BadDefinition) as caught:
        world.registry.find("lint")
    assert (caught.value.code, str(caught.value)) == (
        "AGENT_001",
        f"agent 'lint' cannot be used:\n  {script}:{told}",
    )


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize("code", ["while True:\n    pass", "1 / 0", "write('x')", ""])
def test_scripts_are_read_and_not_run(world: World, code: str) -> None:
    pytest.importorskip("pydantic_monty")
    world.write("tools/run.pym", code)

    assert world.problems("lint.yaml", LINT) == []


@pytest.mark.usefixtures("lint")
def test_without_the_sandbox_scripts_are_said_not_to_be_checked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    world.write("tools/run.pym", "x = (")

    assert world.problems("lint.yaml", LINT) == [
        "lint.yaml:8: warning: tools: their scripts were not checked: pydantic-monty is not installed; run: pip install 'hostbridge[local]'"
    ]
