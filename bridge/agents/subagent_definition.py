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

Paths are told from the definition's folder. `submit_result` ends a run: its parameters
are the form of the answer. `allow` is ours: the commands that its scripts may run; so
is `require_verified_evidence`: an answer counts only where a tool or a command ran.

The routes read such a file by `read_subagent`. For a program with a runner of its own
there is `load_subagent_definition`, in `bridge` as well; what it gives holds all that
the file says, with the tools in the form of OpenAI's API and the templates to fill in:

    lint = load_subagent_definition(path, path.parent)
    client.chat.completions.create(tools=lint.tool_schemas, …)

Source: subagent definition format; ToolDefinition, InitialContext, SubagentDefinition.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

from bridge.agents import fields
from bridge.agents.definition import (
    DEFAULT_MAX_TURNS,
    Definition,
    ScriptTool,
    Source,
)
from bridge.agents.files import Reader, Unreadable, read_bytes, resolve_path
from bridge.agents.lint import warn_of_idle_grants
from bridge.agents.scripts import script_problems
from bridge.agents.syntax_node import NODE_NAMES, CSTNode, node_scope
from bridge.agents.templates import render
from bridge.agents.validate import Written, check
from bridge.agents.yaml_agent import Name
from bridge.errors import BadDefinition, ExtraMissing
from bridge.policy.tool_names import SUBMIT, rule_on_host
from bridge.protocol.names import MODEL_FILE

if TYPE_CHECKING:
    from bridge.agents.names import Layer
    from bridge.agents.yaml_source import Tree


class ToolDefinition(BaseModel):
    """A tool of a subagent; paths are absolute, `parameters` a JSON Schema object."""

    name: str
    pym: Path
    description: str
    parameters: dict[str, Any]
    context_providers: list[Path] = []


class InitialContext(BaseModel):
    """What a subagent is told at its start; `node_context` is a template."""

    system_prompt: str
    node_context: str

    def render(self, node: CSTNode) -> str:
        """Fill in the node; done when a run starts, not when the file is loaded.

        Raises:
            TemplateFailed: the template needs something that a node has not.
        """
        return render(self.node_context, node_scope(node))


class SubagentDefinition(BaseModel):
    """A subagent; `model` is the absolute path of a GGUF file."""

    name: str
    model: Path
    max_turns: int = DEFAULT_MAX_TURNS
    allow: list[str] = []
    require_verified_evidence: bool = False
    initial_context: InitialContext
    tools: list[ToolDefinition]

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in the form of OpenAI's API."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": True,
                },
            }
            for tool in self.tools
        ]

    @property
    def tools_by_name(self) -> dict[str, ToolDefinition]:
        """Each tool by its name."""
        return {tool.name: tool for tool in self.tools}


class _WrittenTool(Written):
    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
    pym: Annotated[str, Field(min_length=1)]
    description: str
    parameters: dict[str, Any]
    context_providers: list[str] = Field(default_factory=list)


class _WrittenContext(Written):
    system_prompt: str
    node_context: str


class _WrittenSubagent(Written):
    name: Name
    model: str
    max_turns: Annotated[int, Field(ge=1, le=1000)] = DEFAULT_MAX_TURNS
    allow: list[str] = Field(default_factory=list)
    require_verified_evidence: bool = False
    initial_context: _WrittenContext
    tools: list[_WrittenTool]


def load_subagent_definition(path: Path, agents_dir: Path) -> SubagentDefinition:
    """Read one file for a runner of one's own; its paths are told from `agents_dir`.

    It may lie anywhere, and its paths may lead anywhere: who calls this trusts it. Of
    what is only a warning (a model that is not there yet) `hostbridge agents check`
    tells.

    Raises:
        BadDefinition: it cannot be used (AGENT_001); names every problem.
    """
    from bridge.agents.diagnostic import Problem
    from bridge.agents.yaml_source import read_tree

    reader = Reader(agents_dir, is_confined=False)
    try:
        text = reader.note(path, read_bytes(path))
    except Unreadable as exc:
        raise BadDefinition(path.stem, [Problem(path, 1, (), str(exc))]) from None
    tree = read_tree(text, path)
    found = _read(tree, reader)
    errors = [problem for problem in tree.problems if problem.level == "error"]
    if found is None or errors:
        raise BadDefinition(path.stem, errors)
    return found[0]


def read_subagent(tree: Tree, layer: Layer, reader: Reader) -> Definition | None:
    """Read a subagent definition as what every route understands."""
    found = _read(tree, reader)
    if found is None:
        return None
    told, codes = found
    return Definition(
        name=told.name,
        source=Source(
            file=tree.file, layer=layer, spelling="subagent", digest=reader.digest
        ),
        system_prompt=told.initial_context.system_prompt,
        node_context=told.initial_context.node_context,
        model=str(told.model),
        # Its tools are scripts that only our own loop runs.
        routes=("local", "endpoint"),
        # And it has no others.
        tools=(),
        allow=tuple(told.allow),
        script_tools=tuple(
            ScriptTool(
                **tool.model_dump(exclude={"context_providers"}),
                context_providers=tuple(tool.context_providers),
                code=codes.get(tool.pym, ""),
                provider_codes=tuple(codes.get(p, "") for p in tool.context_providers),
            )
            for tool in told.tools
        ),
        output_schema=told.tools_by_name[SUBMIT].parameters,
        max_turns=told.max_turns,
        require_verified_evidence=told.require_verified_evidence,
    )


def _read(
    tree: Tree, reader: Reader
) -> tuple[SubagentDefinition, dict[Path, str]] | None:
    """The definition and what its scripts hold; None where it is none."""
    told, _ = check(_WrittenSubagent, tree)
    if told is None:
        return None
    model = fields.read_model(tree, ("model",), told.model, reader)
    if model is not None and not model.endswith(MODEL_FILE):
        problem = f"expected a file ending in {MODEL_FILE}, got {model!r}"
        tree.complain(("model",), problem)
    place = ("initial_context", "node_context")
    template = told.initial_context.node_context
    fields.check_template(tree, place, template, NODE_NAMES)
    fields.check_rules(tree, ("allow",), told.allow)
    warn_of_idle_grants(told.allow, tree)
    codes: dict[Path, str] = {}
    tools = [
        _read_tool(tool, ("tools", position), tree, reader, codes)
        for position, tool in enumerate(told.tools)
    ]
    submits = sum(tool.name == SUBMIT for tool in tools)
    if submits != 1:
        message = f"expected exactly one tool named {SUBMIT}, got {submits}"
        tree.complain(("tools",), message)
    _check_names([tool.name for tool in tools], tree)
    try:
        tree.problems += script_problems(codes, _names_given(tools))
    except ExtraMissing as exc:
        tree.warn(("tools",), f"their scripts were not checked: {exc}")
    if model is None or submits != 1:
        return None
    context = InitialContext(**told.initial_context.model_dump())
    definition = SubagentDefinition(
        name=told.name,
        model=Path(model),
        max_turns=told.max_turns,
        allow=[rule_on_host(rule) for rule in told.allow],
        require_verified_evidence=told.require_verified_evidence,
        initial_context=context,
        tools=tools,
    )
    return definition, codes


def _names_given(tools: list[ToolDefinition]) -> dict[Path, set[str]]:
    """The names that each script has: those of the node, and of every tool it is of."""
    given: dict[Path, set[str]] = {}
    for tool in tools:
        properties = tool.parameters.get("properties")
        names = {*NODE_NAMES, *(properties if isinstance(properties, dict) else ())}
        for path in (tool.pym, *tool.context_providers):
            given.setdefault(path, set()).update(names)
    return given


def _check_names(names: list[str], tree: Tree) -> None:
    for position, name in enumerate(names):
        if name != SUBMIT and name in names[:position]:
            place = ("tools", position, "name")
            tree.complain(place, f"there is a tool named {name!r} already")


def _read_tool(
    tool: _WrittenTool,
    place: tuple[str | int, ...],
    tree: Tree,
    reader: Reader,
    codes: dict[Path, str],
) -> ToolDefinition:
    here = (*place, "parameters")
    if (
        fields.check_schema(tree, here, tool.parameters)
        and tool.parameters.get("additionalProperties") is not False
    ):
        tree.warn(here, "without additionalProperties: false a model may add fields")
    _check_parameters(tool, here, tree)
    pym = _read_script(tool.pym, (*place, "pym"), tree, reader, codes)
    providers = [
        _read_script(each, (*place, "context_providers", position), tree, reader, codes)
        for position, each in enumerate(tool.context_providers)
    ]
    return ToolDefinition(
        name=tool.name,
        pym=pym,
        description=tool.description,
        parameters=tool.parameters,
        context_providers=providers,
    )


def _check_parameters(
    tool: _WrittenTool, place: tuple[str | int, ...], tree: Tree
) -> None:
    """Complain of parameters that no script could name: every call with one fails."""
    properties = tool.parameters.get("properties")
    for name in properties if isinstance(properties, dict) else ():
        if not name.isidentifier() or keyword.iskeyword(name):
            tree.complain(
                (*place, "properties", name),
                f"a script has each parameter by its name, and {name!r} is no name in "
                f"Python; such as {_named(name)!r}",
            )


def _named(name: str) -> str:
    """A name of Python that is near."""
    plain = re.sub(r"\W", "_", name)
    tried = (plain, f"{plain}_", f"_{plain}")
    return next(n for n in tried if n.isidentifier() and not keyword.iskeyword(n))


def _read_script(
    relative: str,
    place: tuple[str | int, ...],
    tree: Tree,
    reader: Reader,
    codes: dict[Path, str],
) -> Path:
    try:
        path = resolve_path(reader.folder, relative)
    except Unreadable as exc:
        tree.complain(place, f"{relative!r}: {exc}")
        return reader.folder
    if path not in codes:
        try:
            codes[path] = reader.read(path)
        except Unreadable as exc:
            tree.complain(place, f"{path}: {exc}")
    return path
