"""README and docs/: what they list is what there is."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from bridge.agents.subagent_definition import (
    InitialContext,
    SubagentDefinition,
    ToolDefinition,
)
from bridge.agents.yaml_agent import AgentFile
from bridge.cli.commands import COMMANDS
from bridge.cli.main import run

DOCS = Path(__file__).parents[1] / "docs"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


@pytest.mark.parametrize("command", ["ask", "submit"])
def test_every_option_of_a_request_is_listed(capsys, command):
    run([command, "--help"])
    options = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.M))

    listed = set(re.findall(r"^\| `(--[a-z-]+)", page("commands"), re.M))
    assert options - listed == set()
    assert "--schema" in options


def test_every_command_is_named():
    commands = page("commands")

    assert {name for name in COMMANDS if f"`{name}" not in commands} == set()


def test_every_field_of_a_definition_is_listed():
    """Of both spellings that are hostbridge's own."""
    listed = {
        line.partition(":")[0]: [
            set(each.split()) for each in re.findall("`(.+?)`", line)
        ]
        for line in page("agents").splitlines()
        if line.startswith("- Fields of ")
    }

    yaml = set().union(*listed["- Fields of a YAML agent"])
    assert set(AgentFile.model_fields) - yaml == set()
    top, _, context, _, tool = listed["- Fields of a subagent definition"]
    for model, fields in (
        (SubagentDefinition, top), (InitialContext, context), (ToolDefinition, tool),
    ):  # fmt: skip
        assert fields == set(model.model_fields)


def test_its_python_is_python_of_ours():
    """Every example can be compiled, and what it imports from us is there."""
    blocks = re.findall(r"^```python\n(.*?)^```", page("python"), re.M | re.S)
    code = "\n".join(blocks)
    tree = compile(
        code,
        "python.md",
        "exec",
        ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
    )

    imports = [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("bridge")
        for alias in node.names
    ]
    assert {("bridge", "Bridge"), ("bridge", "AsyncBridge")} <= set(imports)
    for module, name in imports:
        assert hasattr(import_module(str(module)), name)
