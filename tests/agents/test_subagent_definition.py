"""Subagent definitions, as their format says."""

# ruff: noqa: E501 - whole messages, one a line

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import runworld
from agentworld import LINT, lint_problems

import bridge
from bridge.agents.prompt import NODE_NAMES, node_scope
from bridge.agents.subagent_definition import InitialContext, load_subagent_definition
from bridge.agents.templates import TemplateFailed
from bridge.errors import BadDefinition
from bridge.protocol.request import Node

NODE = SimpleNamespace(
    text="def f(): ...",
    name="f",
    node_type="function_definition",
    file_path=Path("src/{{ x }}.py"),
)


def test_a_valid_file(lint):
    definition = load_subagent_definition(lint, lint.parent)

    tools = lint.parent / "tools"
    assert (definition.name, definition.max_turns) == ("lint", 20)
    assert definition.model == lint.parent / "models" / "lint.gguf"
    expected = [tools / "run.pym", tools / "submit.pym"]
    assert [tool.pym for tool in definition.tools] == expected
    wanted = [tools / "config.pym"]
    assert definition.tools_by_name["run_linter"].context_providers == wanted


def test_tool_schemas_have_the_form_of_the_api(lint):
    first, second = load_subagent_definition(lint, lint.parent).tool_schemas

    parameters = {"type": "object", "properties": {}, "additionalProperties": False}
    called = {"name": "run_linter", "description": "Runs the linter"}
    called |= {"parameters": parameters, "strict": True}
    assert first == {"type": "function", "function": called}
    assert second["function"]["name"] == "submit_result"


def test_render_fills_in_the_node(lint):
    """The text of the node is not a template."""
    context = load_subagent_definition(lint, lint.parent).initial_context

    shown = "function_definition f in src/{{ x }}.py:\ndef f(): ..."
    assert context.render(NODE) == shown


def test_a_node_of_a_request_can_be_rendered(lint):
    """By a program with a runner of its own."""
    node = Node(file="src/a.py", name="f", type="function", line=3, text="def f(): ...")

    context = bridge.load_subagent_definition(lint, lint.parent).initial_context

    assert context.render(node) == "function f in src/a.py:\ndef f(): ..."
    assert set(node_scope(node)) == NODE_NAMES


@pytest.mark.parametrize("template", ["{{ node }}", "{{ node_text.__class__ }}"])
def test_error_render_is_strict(template):
    context = InitialContext(system_prompt="s", node_context=template)

    with pytest.raises(TemplateFailed):
        context.render(NODE)


def test_the_definition_in_the_registry(world, lint):
    """It has the text of its scripts: nothing reads them again."""
    definition = world.registry.find("lint")

    run, submit = definition.script_tools
    assert run.code == "# tools/run.pym\n"
    assert run.provider_codes == ("# tools/config.pym\n",)
    assert (submit.code, definition.output_schema) == ("'noted'\n", submit.parameters)
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
def test_scripts_can_run_granted_commands(world, lint, tool):
    is_linter = tool == "run_linter"
    world.write("tools/submit.pym", "'ok'")
    world.write("tools/run.pym" if is_linter else "tools/submit.pym", CHECKED)
    lint.write_text(LINT.replace("initial_context:", GRANTED))
    definition = world.registry.find("lint")
    run = runworld.World(world.project)
    calls = [runworld.call("run_linter")] if is_linter else []
    calls.append(runworld.call("submit_result", summary="done"))

    outcome = run.run(*calls, agent=definition)

    assert definition.allow == ("Bash(test *)", "Bash(touch *)")
    assert (outcome.verdict.code, outcome.verdict.parsed) == (None, {"summary": "done"})
    called = "call-1" if is_linter else "submit-1"
    ran = [(e.command, e.passed, e.tool_use_id) for e in outcome.run.evidence]
    looks, mends = "test -e fixed", "touch fixed"
    expected = [(looks, False), (mends, True), (looks, True)]
    assert [each for each in ran if each[0]] == [(*each, called) for each in expected]


@pytest.mark.usefixtures("lint")
def test_error_in_grants(world):
    rules = "allow: ['Bash(x', Edit, Bash]\ninitial_context:"

    assert lint_problems(world, "initial_context:", rules) == [
        "lint.yaml:3: allow[0]: 'Bash(x': expected Tool or Tool(what), such as Bash(pytest *)",
        "lint.yaml:3: warning: allow[1]: grants nothing: its scripts can only run commands",
        "lint.yaml:3: warning: allow[2]: grants every command; name them, such as Bash(pytest *)",
    ]


@pytest.mark.usefixtures("lint")
def test_a_run_has_only_the_tools_of_the_definition(world):
    """It has no tool of ours that reads files."""
    run = runworld.World(world.project)

    run.run(runworld.submit(), agent=world.registry.find("lint"))

    listed = run.model.asked[0][0].content.partition("Tools:\n")[2].splitlines()
    expected = ["run_linter", "submit_result"]
    assert [line.split()[0].partition("(")[0] for line in listed] == expected


# What is written in place of what, and the problems.
MISTAKES = {
    "name: run_linter => name: submit_result": "8: tools: expected exactly one tool named submit_result, got 2",
    "tools/run.pym => tools/runn.pym": "10: tools[0].pym: DIR/tools/runn.pym: no such file or directory",
    "[tools/config.pym] => [tools/config.pym, gone.pym]": "13: tools[0].context_providers[1]: DIR/gone.pym: no such file or directory",
    "models/lint.gguf => models/gone.gguf": "2: warning: model: there is no DIR/models/gone.gguf yet",
    "models/lint.gguf => haiku": "2: model: expected a file ending in .gguf, got 'haiku'",
    ", additionalProperties: false} => }": "12: warning: tools[0].parameters: without additionalProperties: false a model may add fields",
    "{type: object, properties: {}, additionalProperties: false} => {properties: {}}": "12: tools[0].parameters: not the JSON Schema of an object: expected type: object, got nothing",
    "{type: object, properties: {}, additionalProperties: false} => {type: objekt}": "12: tools[0].parameters: not the JSON Schema of an object: $.type: JSON Schema has no type 'objekt'; did you mean 'object'?",
    "{{ node_text }} => {{ node_txt }}": "5: warning: initial_context.node_context: 'node_txt' has no default: the call fails unless it sets it; did you mean 'node_text' or 'node_type'?",
    "    description: Ends the run\n =>     descripton: Ends the run\n": "14: tools[1].description: is missing\n16: tools[1].descripton: unknown field; did you mean 'description'?",
}


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize("change", MISTAKES)
def test_error_in_a_subagent_definition(world, change):
    problems = lint_problems(world, *change.split(" => "))

    assert problems == [f"lint.yaml:{each}" for each in MISTAKES[change].splitlines()]


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize(
    ("name", "near"), [("max-lines", "max_lines"), ("class", "class_"), ("2nd", "_2nd")]
)
def test_error_a_parameter_that_is_no_python_name(world, name, near):
    """The sandbox refuses it as a variable, so every call would fail."""
    properties = f"properties: {{{name}: {{}}, match: {{}}}}"
    problems = lint_problems(world, "properties: {}", properties)

    assert problems == [
        f"lint.yaml:12: tools[0].parameters.properties.{name}: scripts use parameters as variables, and {name!r} is not a Python name; rename it, such as {near!r}"
    ]


def test_an_unforeseen_error_is_a_problem_of_its_file(world, lint, monkeypatch):
    """The other definitions still load."""

    def fail(path: object) -> str:
        if str(path).endswith("lint.gguf"):
            raise OSError(f"no place for {path}")
        return known(path)

    known: Any = os.path.abspath

    world.write("b.yaml", "name: b\nprompt: '{{ task }}'\n")
    monkeypatch.setattr("os.path.abspath", fail)

    found = {e.loaded.name: e.loaded.problems for e in world.registry.entries()}

    assert found.keys() == {"b", "lint"}
    (problem,), none = found["lint"], found["b"]
    why = f"no place for {lint.parent}/models/lint.gguf"
    assert str(problem) == f"{lint}:1: cannot be read as a definition: {why}"
    assert none == ()


def test_error_without_submit_result(lint):
    lint.write_text(LINT.replace("submit_result", "submit"))

    with pytest.raises(BadDefinition) as failed:
        load_subagent_definition(lint, lint.parent)

    why = "tools: expected exactly one tool named submit_result, got 0"
    assert failed.value.code == "bad_definition"
    assert str(failed.value) == f"agent 'lint' cannot be used:\n  {lint}:8: {why}"


def test_error_two_tools_with_one_name(world, lint):
    extra = LINT[LINT.index("  - name: run_linter") : LINT.index("  - name: submit")]
    lint.write_text(LINT.replace("tools:\n", f"tools:\n{extra}", 1))

    why = "there is already a tool named 'run_linter'"
    with pytest.raises(BadDefinition, match=why):
        world.registry.find("lint")
