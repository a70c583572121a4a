"""The frontmatter of a flow: its name, what it is for, its parameters. Pure.

    ---
    name: review
    description: Review a change, and fix what is found.
    params:
      target: {description: The files to look at, default: src}
      depth: How far to look (default: 2)
      goal:
    ---

A parameter without a default has to be given. Parameters may be a list of names, too,
and a line `Workflow:` may follow.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.flow.lexer import NAME
from bridge.flow.problems import near
from bridge.flow.syntax_tree import Declared, Head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_source import Tree
    from bridge.flow.problems import Problems

_OPENED = r"(?:\s|\#[^\n]*\n)*+(?P<dashes>---)[ \t]*\n"
_OPEN = re.compile(_OPENED)
# A heading may follow, as public files have it.
_FENCE = re.compile(
    _OPENED + r"(?P<fields>.*?)^---[ \t]*(?:\n|\Z)(?:\s*+Workflow:[ \t]*\n)?",
    re.S | re.M,
)
# Where YAML begins a line.
_BREAK = re.compile("[\n\x85\u2028\u2029]")
_FIELDS = ("name", "description", "params")
# What public files have besides, for people.
_NOTES = {"author", "version", "tags", "visualization"}
_OF_PARAMETER = ("description", "default")


def read_head(source: str, problems: Problems) -> tuple[Head, int]:
    """What the frontmatter says, and where the flow itself begins."""
    match = _FENCE.match(source)
    if not match:
        if not (opened := _OPEN.match(source)):
            return Head(), 0
        message = "this --- is never closed: put --- below the last field"
        problems.add(opened.start("dashes"), message)
        return Head(), len(source)
    # Late: most flows have no frontmatter, and no need of YAML.
    from bridge.agents.yaml_source import read_tree

    fields: Tree = read_tree(match["fields"], Path(), keeps_source=True)
    head = _head(fields)
    at = match.start("fields")
    starts = [at, *(at + found.end() for found in _BREAK.finditer(match["fields"]))]
    for problem in fields.problems:
        line = min(problem.line, len(starts)) - 1
        path = f"{problem.path}: " if problem.place else ""
        problems.add(starts[line] + (problem.column or 1) - 1, path + problem.message)
    return head, match.end()


def _head(fields: Tree) -> Head:
    if not isinstance(fields.value, dict):
        if not fields.problems:
            fields.error((), f"expected {', '.join(_FIELDS)}")
        return Head()
    for key in fields.value.keys() - {*_FIELDS, *_NOTES}:
        hint = near(key, _FIELDS) or f"; it has {', '.join(_FIELDS)}"
        if key in ("workflow", "steps"):
            hint = "; steps stand below the second ---"
        fields.error((key,), f"a flow has no such field{hint}")
    name, description = (_text(fields, (key,)) or "" for key in _FIELDS[:2])
    return Head(name, description, tuple(_params(fields, fields.value.get("params"))))


def _params(fields: Tree, params: Any) -> Iterator[Declared]:
    if isinstance(params, list) and all(isinstance(each, str) for each in params):
        params = {str(name): None for name in params}
    if not isinstance(params, dict | None):
        fields.error(("params",), "expected the parameters, each by its name")
        return
    for name, said in (params or {}).items():
        place: Place = ("params", name)
        if not re.fullmatch(NAME, name):
            fields.error(place, "a name has letters, digits, _ and - inside")
        if isinstance(said, str):
            # What it is for, as public files have it.
            what, is_given, value = said.partition("(default: ")
            given = value.removesuffix(")") if is_given else None
            yield Declared(name, what.rstrip(), given)
            continue
        if not isinstance(said, dict):
            yield Declared(name, "", _text(fields, place))
            continue
        for key in said.keys() - set(_OF_PARAMETER):
            fields.error((*place, key), f"no such field{near(key, _OF_PARAMETER)}")
        of, default = (_text(fields, (*place, key)) for key in _OF_PARAMETER)
        yield Declared(name, of or "", default)


def _text(fields: Tree, place: Place) -> str | None:
    """A value as text; numbers, true and false as they are written in JSON."""
    value = fields.value
    for key in place:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, dict | list):
        fields.error(place, "expected a text")
        return None
    return value if isinstance(value, str | None) else json.dumps(value)
