"""Subagent definitions: a local model with tools of its own.

    name: lint
    model: models/lint.gguf
    max_turns: 20
    allow: ["Bash(ruff check *)"]
    require_verified_evidence: true
    initial_context:
      system_prompt: You are a linter.
      node_context: "{{ node_text }}"
    tools:
      - {name: run_linter, pym: run.pym, description: …, parameters: {…}}
      - {name: submit_result, pym: submit.pym, description: …, parameters: {…}}

Paths are relative to the definition's folder. `submit_result` ends a run: its
parameters are the form of the answer. Two fields are ours: `allow` lists the commands
that its scripts may run, and with `require_verified_evidence` an answer counts only if
a tool or a command ran.

The routes read such a file with `read_subagent`. A program with a runner of its own
uses `load_subagent_definition`, also in `bridge`. It returns everything in the file,
with the tools in the form of OpenAI's API and the template to fill in:

    lint = load_subagent_definition(path, path.parent)
    client.chat.completions.create(tools=lint.tool_schemas, …)

Source: subagent definition format; InitialContext, SubagentDefinition.
"""

import keyword
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field

from bridge.agents import definition, fields
from bridge.agents.agent_names import Layer
from bridge.agents.diagnostic import Diagnostic, Place
from bridge.agents.files import Reader, Unreadable, read_bytes
from bridge.agents.lint import lint_script_grants
from bridge.agents.prompt import NODE_NAMES, CSTNode, node_scope
from bridge.agents.scripts import check_scripts
from bridge.agents.templates import render
from bridge.agents.validate import check
from bridge.agents.yaml_source import Tree, read_tree
from bridge.errors import BadDefinition, ExtraMissing
from bridge.policy.tool_names import SUBMIT, rule_on_host
from bridge.protocol.names import MODEL_FILE
from bridge.protocol.type_checks import check as check_arguments


class InitialContext(definition.StrictModel):
    """The first words to a subagent; `node_context` is a template."""

    system_prompt: str
    node_context: str

    def render(self, node: CSTNode) -> str:
        """Fill in the node. Call it when a run starts, not when the file is loaded.

        Raises:
            TemplateFailed: the template needs something that a node does not have.
        """
        return render(self.node_context, node_scope(node))


class SubagentDefinition(definition.StrictModel):
    """A subagent; `model` is the absolute path of a GGUF file."""

    name: definition.Name
    model: definition.FilePath
    max_turns: definition.MaxTurns = definition.DEFAULT_MAX_TURNS
    allow: list[str] = Field(default_factory=list)
    require_verified_evidence: bool = False
    initial_context: InitialContext
    tools: list[definition.ToolDefinition]

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in the form of OpenAI's API."""
        shown = {"name", "description", "parameters"}
        return [
            {
                "type": "function",
                "function": {**tool.model_dump(include=shown), "strict": True},
            }
            for tool in self.tools
        ]

    @property
    def tools_by_name(self) -> dict[str, definition.ToolDefinition]:
        """Each tool by its name."""
        return {tool.name: tool for tool in self.tools}


def load_subagent_definition(
    path: str | Path, agents_dir: str | Path
) -> SubagentDefinition:
    """Read one file for a program's own runner; its paths are relative to `agents_dir`.

    The file may be anywhere, and so may the files that it names: the caller trusts it.
    Warnings, such as a model file that does not exist yet, are left to
    `hostbridge agents check`.

    Raises:
        BadDefinition: it cannot be used (bad_definition); lists every problem.
        InvalidRequest: an argument is not a path.
    """
    check_arguments(path=path, agents_dir=agents_dir)
    path = Path(path)
    reader = Reader(Path(agents_dir), is_confined=False)
    try:
        text = reader.note(path, read_bytes(path))
    except Unreadable as exc:
        raise BadDefinition(path.stem, [Diagnostic(path, 1, (), str(exc))]) from None
    tree = read_tree(text, path)
    found = _read(tree, reader)
    errors = [problem for problem in tree.problems if problem.level == "error"]
    if found is None or errors:
        raise BadDefinition(path.stem, errors)
    return found[0]


def read_subagent(
    tree: Tree, layer: Layer, reader: Reader
) -> definition.Definition | None:
    """Read a subagent definition as every route understands it."""
    found = _read(tree, reader)
    if found is None:
        return None
    subagent, tools = found
    return definition.Definition(
        name=subagent.name,
        source=definition.Source(
            file=tree.file, layer=layer, spelling="subagent", digest=reader.digest
        ),
        system_prompt=subagent.initial_context.system_prompt,
        node_context=subagent.initial_context.node_context,
        model=str(subagent.model),
        # Only our own loop runs scripts, and it gives the agent no other tools.
        routes=("local", "endpoint"),
        tools=(),
        allow=tuple(subagent.allow),
        script_tools=tools,
        output_schema=subagent.tools_by_name[SUBMIT].parameters,
        max_turns=subagent.max_turns,
        require_verified_evidence=subagent.require_verified_evidence,
    )


def _read(
    tree: Tree, reader: Reader
) -> tuple[SubagentDefinition, tuple[definition.ScriptTool, ...]] | None:
    """The definition, and its tools with their scripts; None if it cannot be used."""
    written, _ = check(SubagentDefinition, tree)
    if written is None:
        return None
    model = fields.read_model(tree, ("model",), str(written.model), reader)
    if model is not None and not model.endswith(MODEL_FILE):
        problem = f"expected a file ending in {MODEL_FILE}, got {model!r}"
        tree.error(("model",), problem)
    place = ("initial_context", "node_context")
    template = written.initial_context.node_context
    fields.check_template(tree, place, template, NODE_NAMES)
    fields.check_rules(tree, ("allow",), written.allow)
    lint_script_grants(written.allow, tree)
    scripts: dict[Path, str] = {}
    tools = tuple(
        _read_tool(tool, ("tools", position), tree, reader, scripts)
        for position, tool in enumerate(written.tools)
    )
    _check_names([tool.name for tool in tools], tree)
    try:
        tree.problems += check_scripts(scripts, _names_by_script(tools))
    except ExtraMissing as exc:
        tree.warn(("tools",), f"their scripts were not checked: {exc}")
    if model is None or SUBMIT not in {tool.name for tool in tools}:
        return None
    update = {
        "model": Path(model),
        "allow": [rule_on_host(rule) for rule in written.allow],
        "tools": list(tools),
    }
    return written.model_copy(update=update), tools


def _check_names(names: list[str], tree: Tree) -> None:
    if names.count(SUBMIT) != 1:
        message = f"expected exactly one tool named {SUBMIT}, got {names.count(SUBMIT)}"
        tree.error(("tools",), message)
    for position, name in enumerate(names):
        if name != SUBMIT and name in names[:position]:
            place = ("tools", position, "name")
            tree.error(place, f"there is already a tool named {name!r}")


def _properties(tool: definition.ToolDefinition) -> Iterable[str]:
    properties = tool.parameters.get("properties")
    return properties if isinstance(properties, dict) else ()


def _names_by_script(
    tools: Iterable[definition.ToolDefinition],
) -> dict[Path, set[str]]:
    """The names that each script is given: the node's, and its tools' parameters."""
    names: dict[Path, set[str]] = {}
    for tool in tools:
        for path in (tool.pym, *tool.context_providers):
            names.setdefault(path, set()).update(NODE_NAMES, _properties(tool))
    return names


def _read_tool(
    tool: definition.ToolDefinition,
    place: Place,
    tree: Tree,
    reader: Reader,
    scripts: dict[Path, str],
) -> definition.ScriptTool:
    here = (*place, "parameters")
    if (
        fields.check_schema(tree, here, tool.parameters)
        and tool.parameters.get("additionalProperties") is not False
    ):
        tree.warn(here, "without additionalProperties: false a model may add fields")
    for name in _properties(tool):
        if not _is_python_name(name):
            tree.error(
                (*here, "properties", name),
                f"scripts use parameters as variables, and {name!r} is not a Python "
                f"name; rename it, such as {_python_name(name)!r}",
            )
    pym = _read_script(tool.pym, (*place, "pym"), tree, reader, scripts)
    providers = [
        _read_script(
            each, (*place, "context_providers", position), tree, reader, scripts
        )
        for position, each in enumerate(tool.context_providers)
    ]
    read = {
        "pym": pym,
        "context_providers": providers,
        "code": scripts.get(pym, ""),
        "provider_codes": tuple(scripts.get(path, "") for path in providers),
    }
    return definition.ScriptTool(**dict(tool) | read)


def _is_python_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _python_name(name: str) -> str:
    """The nearest valid Python name."""
    plain = re.sub(r"\W", "_", name)
    return next(filter(_is_python_name, (plain, f"{plain}_", f"_{plain}")))


def _read_script(
    named: Path, place: Place, tree: Tree, reader: Reader, scripts: dict[Path, str]
) -> Path:
    """The absolute path of a script, whose text is then in `scripts`."""
    path = named
    try:
        path = reader.resolve(str(named))
        if path not in scripts:
            scripts[path] = reader.read(path)
    except Unreadable as exc:
        tree.error(place, str(exc))
    return path
