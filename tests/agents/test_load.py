"""Loading definition files: what they become, and each problem at its place."""

# ruff: noqa: E501 - whole messages, one a line

import json
import os

import pytest
from agentworld import fields_of

from bridge.agents.load import load

WRITTEN = {
    "name": "reviewer",
    "description": "Reads a change",
    "provider": "claude",
    "mode": "terminal",
    "model": "sonnet",
    "prompt": "{{ task }} {{ style }}",
    "default_variables": {"style": "short"},
    "lifecycle_variables": {"validation": None},
    "lifecycle_variables_mode": "replace",
    "max_turns": 5,
    "priority": "high",
    "max_attempts": 1,
    "subagent_type": "Explore",
    "require_verified_evidence": True,
}
NAMED = {
    "tools": ["Read", "read_file", "mcp__git__log"],
    "blocked_tools": ["Bash"],
    "allow": ["read_file", "Bash(git log *)", "run_command(ls)"],
    "timeout": 30,
    "reuse": {"questions": 3, "age": 60},
}


def test_a_yaml_agent(world):
    found = world.load("reviewer.yaml", json.dumps(WRITTEN | NAMED))

    assert fields_of(found) == WRITTEN | {
        "routes": ("host",),
        "tools": ("Read", "read_file", "mcp__git__log"),
        "blocked_tools": ("Bash",),
        "allow": ("Read", "Bash(git log *)", "Bash(ls)"),
        "timeout_s": 30.0,
        "reuse": {"questions": 3, "age": 60.0},
    }
    expected = {"file": found.file, "layer": "user", "spelling": "yaml"}
    assert found.definition.source.model_dump(exclude={"digest"}) == expected


def test_error_every_problem_at_once(world):
    """One run of the check shows all that is to be mended."""
    text = """\
    name: a
    promt: hi
    model: haikuu
    tools:
      - Raed
      - Zzyzx
    allow: ['Bash(x', 'Raed']
    timeout: fast
    max_turns: -1
    priority: urgent
    routes: [host, lokal]
    require_verified_evidence: yes
    examples:
      - prompt: 3
        answr: {}
    default_variables: {task: x}
    """

    assert world.problems("a.yaml", text) == [
        "a.yaml:2: promt: unknown field; did you mean 'prompt' or 'priority'?",
        "a.yaml:3: model: expected one of haiku, sonnet, opus, fable, inherit, a file ending in .gguf or openai:NAME, got 'haikuu'; did you mean 'haiku'?",
        "a.yaml:5: tools[0]: there is no tool 'Raed'; did you mean 'Read'?",
        "a.yaml:6: warning: tools[1]: unknown tool 'Zzyzx'",
        "a.yaml:7: allow[0]: 'Bash(x': expected Tool or Tool(what), such as Bash(pytest *)",
        "a.yaml:7: allow[1]: 'Raed': there is no tool 'Raed'; did you mean 'Read'?",
        "a.yaml:8: timeout: expected a number, got a string ('fast')",
        "a.yaml:9: max_turns: must be greater than or equal to 1, got an integer (-1)",
        "a.yaml:10: priority: expected 'high', 'normal' or 'low', got a string ('urgent')",
        "a.yaml:11: routes[1]: expected 'host', 'claude', 'local', 'endpoint' or 'remote', got a string ('lokal'); did you mean 'local'?",
        "a.yaml:12: require_verified_evidence: yes: quote it if it is text, or else write true or false",
        "a.yaml:14: examples[0].answer: is missing",
        "a.yaml:14: examples[0].prompt: expected a string, got an integer (3)",
        "a.yaml:15: examples[0].answr: unknown field; did you mean 'answer'?",
        "a.yaml:16: default_variables.task: this name is reserved; choose another",
    ]


ERRORS = {
    "- a": "a.yaml:1: expected a mapping of fields, got a list",
    "x": "a.yaml:1: expected a mapping of fields, got a string ('x')",
    "prompt: '{{ task }}'": "a.yaml:1: name: is missing",
    "name: [x]": "a.yaml:1: name: expected a string, got a list",
    "name: a\nprompt: '{{ task }}'\nblocked_tools: [Bash, '*']": "a.yaml:3: blocked_tools[1]: '*' withholds every tool: write tools: []",
    "name: ../x": "a.yaml:1: name: string should match pattern '^[A-Za-z0-9][A-Za-z0-9_.-]*(?: [A-Za-z0-9_.-]+)*$', got a string ('../x')",
    'name: "a\\x62"': "a.yaml:1: name: must be plain text on a line of its own: name: ab",
    "name: a\nprompt: |\n  {{ task }}\n  {% if %}": "a.yaml:4: prompt: not a template: Expected an expression, got 'end of statement block'",
    "name: a\noutput_schema: {type: array}": "a.yaml:2: output_schema: not the JSON Schema of an object: expected type: object, got a string ('array')",
    "name: a\noutput_schema: {type: object, properties: 3}": 'a.yaml:2: output_schema: not the JSON Schema of an object: $.properties: 3 is not of type "object"',
    "name: a\noutput_schema: {type: object, required: [x]}\nexamples: [{prompt: p, answer: {}}]": 'a.yaml:3: examples[0].answer: does not satisfy output_schema: $: "x" is a required property',
    "name: a\nrequire_verified_evidence: true\noutput_schema: {type: object}\ntools: [Bash]\nallow: ['Bash(ls)']": "a.yaml:3: output_schema: require_verified_evidence needs a property `evidence` here",
    "name: a\nroutes: []": "a.yaml:2: routes: expected at least one item, got an empty list",
    "name: a\ntimeout: -1": "a.yaml:2: timeout: must be greater than 0, got an integer (-1)",
    "name: a\nreuse: 3": "a.yaml:2: reuse: expected a mapping, got an integer (3)",
    "name: a\nreuse: {questions: 1}": "a.yaml:2: reuse.questions: must be greater than or equal to 2, got an integer (1)",
    "name: a\nreuse: {qestions: 3}": "a.yaml:2: reuse.qestions: unknown field; did you mean 'questions'?",
    "name: a\nmodel: 7": "a.yaml:2: model: expected a string, got an integer (7)",
}


@pytest.mark.parametrize("text", ERRORS, ids=lambda t: t[:40])
def test_error_in_a_yaml_agent(world, text):
    found = world.load("a.yaml", text)

    problems = [str(p).replace(f"{found.file.parent}/", "") for p in found.problems]
    assert (problems, found.definition) == ([ERRORS[text]], None)
    assert found.spelling == "yaml"


KINDS = {
    "on_before_tool:\n  - when: tool_name == 'Bash'": "on_before_tool: this is a rules file, not an agent: it belongs in ~/.hostbridge/rules.yaml or .bridge/rules.yaml",
    "steps:\n  - {name: fix, allowed_tools: [Read]}\nvariables: {}": "steps: this is a workflow, not an agent: it belongs in ~/.hostbridge/workflows or .bridge/workflows",
    "steps:\n  - {id: a, exec: [ls]}\ninputs: {x: {}}": "steps: this is a workflow, not an agent: it belongs in ~/.hostbridge/workflows or .bridge/workflows",
    "type: pipeline\nsteps: []": "steps: this is a workflow, not an agent: it belongs in ~/.hostbridge/workflows or .bridge/workflows",
}


@pytest.mark.parametrize("text", KINDS)
def test_error_a_file_of_another_kind(world, text):
    """One error says so, rather than one for each unknown field."""
    [problem] = world.problems("a.yaml", f"name: a\n{text}\n")

    assert problem.partition(": ")[2] == KINDS[text]


def test_error_a_rule_instead_of_a_tool(world):
    """Routes can only give or withhold whole tools."""
    text = """\
    name: a
    tools: ['Bash(git *)']
    blocked_tools: ['Bash(git push *)', 'run_command (x)']
    """

    assert world.problems("a.yaml", text) == [
        "a.yaml:2: tools[0]: 'Bash(git *)': name the whole tool, Bash; rules belong in `allow`",
        "a.yaml:3: blocked_tools[0]: 'Bash(git push *)': name the whole tool, Bash",
        "a.yaml:3: blocked_tools[1]: 'run_command (x)': name the whole tool, run_command",
    ]


def test_a_file_name_that_differs_from_the_agents(world):
    """Nobody can ask for it by the name of the file."""
    expected = ["b.yaml:1: warning: name: callers ask for 'a', but the file is b.yaml"]
    assert world.problems("b.yaml", "name: a\nprompt: '{{ task }}'\n") == expected


@pytest.mark.parametrize(
    ("fields", "routes"),
    [
        ("", ("host", "claude", "local", "endpoint")),
        ("provider: claude", ("host", "claude")),
        ("provider: claude\nmode: headless", ("claude",)),
        ("mode: terminal", ("host",)),
        ("provider: local", ("local",)),
        ("provider: endpoint\nmode: headless", ("endpoint",)),
        ("mode: self", ("host", "claude", "local", "endpoint")),
        ("provider: local\nroutes: [claude, host, claude]", ("claude", "host")),
    ],
)
def test_the_routes_of_a_definition(world, fields, routes):
    """As `routes` says; without it, by provider and mode."""
    found = world.load("a.yaml", f"name: a\n{fields}\n")

    assert found.definition.routes == routes


@pytest.mark.parametrize(
    ("data", "line"), [(b"name: a\nx: \xff\n", 2), ("name: a".encode("utf-16"), 1)]
)
def test_error_not_utf_8(world, data, line):
    file = world.write("a.yaml", "")
    file.write_bytes(data)

    [problem] = load(file, "user").problems

    assert problem.message == f"expected UTF-8, got byte 0xff on line {line}"


def test_a_byte_order_mark_is_ignored(world):
    assert world.problems("a.yaml", "\ufeffname: a\nprompt: '{{ task }}'\n") == []


@pytest.mark.parametrize("kind", ["folder", "pipe", "gone"])
@pytest.mark.parametrize("spelling", ["yaml", "markdown"])
def test_error_not_a_plain_file(world, kind, spelling):
    """A pipe without a writer must not block."""
    file = world.folders["user"] / {"yaml": "a.yaml", "markdown": "a.md"}[spelling]
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)

    found = load(file, "user")

    [problem] = found.problems
    expected = "no such file or directory" if kind == "gone" else "not a plain file"
    assert (problem.message, problem.line) == (expected, 1)
    assert (found.spelling, found.definition) == (spelling, None)
