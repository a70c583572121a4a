"""The parts that every spelling has: templates, schemas, tools, grants, the model.

Each function looks at one part and complains at its place in the file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bridge.agents import templates
from bridge.agents.diagnostic import Place, near, shown
from bridge.agents.files import Unreadable, resolve_path, stays_inside
from bridge.agents.model_paths import MODELS_FOLDER, model_places
from bridge.agents.syntax_node import NODE_NAMES
from bridge.policy import tool_names
from bridge.policy.permissions import Rule, parse_rule
from bridge.protocol.json_schema import problem_of, problem_of_schema
from bridge.protocol.names import (
    MODEL_FILE,
    MODEL_NAMES,
    OF_SERVER,
    is_model,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.agents.files import Reader
    from bridge.agents.yaml_source import Tree

RESERVED = NODE_NAMES | {"task", "arguments"}


def check_template(
    tree: Tree, place: Place, template: str, known: Iterable[str]
) -> frozenset[str] | None:
    """Complain of what is no template, warn of names that nobody gives a value.

    Returns the names in it; None for what is no template.
    """
    try:
        names = templates.names_in(template)
    except templates.TemplateFailed as exc:
        line = tree.text_lines.get(place, tree.line_of(place)) + (exc.line or 1) - 1
        tree.complain(place, f"not a template: {exc}", line=line)
        return None
    for name in sorted(names - set(known)):
        tree.warn(
            place,
            f"only the call can give {name!r} a value, and without one it fails"
            f"{near(name, known)}",
        )
    return names


def check_schema(tree: Tree, place: Place, schema: dict[str, Any]) -> bool:
    """Complain of what is not the JSON Schema of an object."""
    problem = problem_of_schema(schema)
    if problem is None and schema.get("type") != "object":
        problem = f"expected type: object, got {shown(schema.get('type'))}"
    if problem is not None:
        tree.complain(place, f"not the JSON Schema of an object: {problem}")
    return problem is None


def check_answer(
    tree: Tree, place: Place, schema: dict[str, Any], answer: dict[str, Any]
) -> None:
    """Complain of an example that does not satisfy its own schema."""
    problem = problem_of(schema, answer)
    if problem is not None:
        tree.complain(place, f"does not satisfy output_schema: {problem}")


def check_tools(tree: Tree, place: Place, names: Iterable[str]) -> None:
    """Complain of a tool that is misspelt, warn of one that nobody knows.

    And complain of a rule in place of a tool: whole tools are what every route can give
    or keep back. Of `Bash(git push *)` one would keep back Bash, the next nothing.
    """
    for position, name in enumerate(names):
        if tool_names.is_known(name):
            continue
        hint = near(name, tool_names.KNOWN)
        here = (*place, position) if (*place, position) in tree.lines else place
        tool, bracket, _ = name.partition("(")
        if bracket:
            cure = ""
            if place == ("tools",) and tool.strip() != "Agent":
                cure = "; rules are for `allow`"
            tree.complain(here, f"{name!r}: name the whole tool, {tool.strip()}{cure}")
        elif hint:
            tree.complain(here, f"no tool is named {name!r}{hint}")
        else:
            tree.warn(here, f"no tool named {name!r} is known")


def check_rules(tree: Tree, place: Place, rules: Iterable[str]) -> None:
    """Complain of permission rules that mean nothing."""
    for position, text in enumerate(rules):
        rule = parse_rule(text)
        problem = rule if isinstance(rule, str) else ""
        if isinstance(rule, Rule) and not tool_names.is_known(rule.tool):
            problem = f"no tool is named {rule.tool!r}"
            problem += near(rule.tool, tool_names.KNOWN)
        if problem:
            tree.complain((*place, position), f"{text!r}: {problem}")


def check_variables(tree: Tree, place: Place, variables: Iterable[str]) -> None:
    """Complain of variables that would hide what every template has."""
    for name in variables:
        if name in RESERVED:
            tree.complain((*place, name), "this name is taken; choose another")


def read_model(tree: Tree, place: Place, model: str, reader: Reader) -> str | None:
    """The model, a file as its absolute path; complains of what is no model."""
    if not is_model(model):
        tree.complain(
            place,
            f"expected one of {', '.join(MODEL_NAMES)}, a file ending in {MODEL_FILE} "
            f"or {OF_SERVER}NAME, got {model!r}{near(model, MODEL_NAMES)}",
        )
        return None
    if not model.endswith(MODEL_FILE):
        return model
    try:
        path = resolve_path(reader.folder, model)
    except Unreadable as exc:
        tree.complain(place, f"{model!r}: {exc}")
        return None
    if reader.is_confined and not stays_inside(path, reader.folder):
        tree.complain(place, f"{path} leaves {reader.folder}, where it must lie")
        return None
    _warn_of_no_file(tree, place, path, reader)
    try:
        reader.note_model(path)
    except Unreadable as exc:
        tree.complain(place, f"{path}: {exc}")
        return None
    return str(path)


def _warn_of_no_file(tree: Tree, place: Place, path: Path, reader: Reader) -> None:
    """Warn of a model file that is at none of the places where it is looked for."""
    places = [path]
    if reader.home is not None:
        places = model_places(str(path), reader.folder, reader.home / MODELS_FOLDER)
    if not any(os.path.exists(each) for each in places):
        tree.warn(place, f"there is no {' and no '.join(map(str, places))} yet")
