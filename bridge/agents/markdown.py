"""The Markdown agent: Claude Code's frontmatter, and the system prompt below it.

    ---
    name: reviewer
    description: Reads a change and says what is wrong with it
    tools: Read, Grep, Glob
    model: sonnet
    ---
    You review changes. …

The words below are taken as they are: no template. Fields that only the client can act
on are named in a warning.

Source: Claude Code subagents reference, "Supported frontmatter fields".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, field_validator

from bridge.agents import parts
from bridge.agents.checking import Written, check
from bridge.agents.definition import Definition, Source
from bridge.agents.yaml_agent import Name
from bridge.agents.yaml_tree import Tree, read_tree

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.agents.naming import Layer
    from bridge.agents.reading import Reader

_FENCE = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
# What lies between commas that stand within no parentheses.
_ITEM = re.compile(r"(?:[^,()]|\([^()]*\)?|\))+")
# Looks only; the rest of the client's fields change what an agent does or may do.
_HARMLESS = frozenset({"color", "background"})


class FrontMatter(Written):
    """The fields that the client knows, spelt as it spells them."""

    name: Name
    description: str
    tools: list[str] | None = None
    disallowedTools: list[str] = Field(default_factory=list)  # noqa: N815 - the client's spelling
    model: str | None = None
    maxTurns: Annotated[int, Field(ge=1, le=1000)] | None = None  # noqa: N815
    background: Any = None
    color: Any = None
    effort: Any = None
    hooks: Any = None
    initialPrompt: Any = None  # noqa: N815
    isolation: Any = None
    mcpServers: Any = None  # noqa: N815
    memory: Any = None
    omitClaudeMd: Any = None  # noqa: N815
    permissionMode: Any = None  # noqa: N815
    skills: Any = None

    @field_validator("tools", "disallowedTools", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return _split(value)


_USED = frozenset(
    {"name", "description", "tools", "disallowedTools", "model", "maxTurns"}
)


def read_markdown(
    text: str, file: Path, layer: Layer, reader: Reader
) -> tuple[Tree, Definition | None]:
    """Read a Markdown agent; problems are in the tree."""
    match = _FENCE.match(text)
    if match is None:
        tree = Tree(file)
        tree.complain((), "expected frontmatter: --- on the first line, fields, ---")
        return tree, None
    tree = read_tree(match[1], file, first_line=2)
    told, found = check(FrontMatter, tree)
    body = text[match.end() :].strip()
    if not body:
        line = text[: match.end()].count("\n")
        tree.complain((), "no prompt stands below the frontmatter", line=line)
    for field in sorted(found.model_fields_set - _USED - _HARMLESS):
        tree.warn((field,), "only the client itself acts on this; it is not used here")
    parts.check_tools(tree, ("tools",), _split(found.tools) or ())
    parts.check_tools(tree, ("disallowedTools",), _split(found.disallowedTools))
    model = found.model and parts.read_model(tree, ("model",), found.model, reader)
    if told is None:
        return tree, None
    definition = Definition(
        name=told.name,
        description=told.description,
        source=Source(
            file=file, layer=layer, spelling="markdown", digest=reader.digest
        ),
        system_prompt=body or None,
        model=model or None,
        tools=None if told.tools is None else tuple(told.tools),
        blocked_tools=tuple(told.disallowedTools),
        max_turns=told.maxTurns,
    )
    return tree, definition


def _split(value: Any) -> Any:
    """`Read, Grep` is a list, too."""
    if not isinstance(value, str):
        return value
    return [name.strip() for name in _ITEM.findall(value) if name.strip()]
