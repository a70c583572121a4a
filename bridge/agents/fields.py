"""Check the fields that every format has: templates, schemas, tools, grants, the model.

Each function checks one field, and adds its problems to the tree at the field's place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents import templates
from bridge.agents.diagnostic import Place, describe
from bridge.agents.files import MODELS_FOLDER, Reader, Unreadable, model_places
from bridge.agents.prompt import NODE_NAMES
from bridge.hints import did_you_mean
from bridge.policy import tool_names
from bridge.policy.permission_rules import Rule, parse_rule
from bridge.policy.variable_record import misnamed
from bridge.protocol.json_schema import problem_of_schema
from bridge.protocol.names import MODEL_FILE, MODEL_NAMES, OF_SERVER, is_model

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree

RESERVED = NODE_NAMES | {"task", "arguments"}


def template_names(tree: Tree, place: Place, template: str) -> frozenset[str] | None:
    """The names in a template; None, with its problem in the tree, if it is not one."""
    try:
        return templates.names_in(template)
    except templates.TemplateFailed as exc:
        tree.error_on_line(place, exc.line or 1, f"not a template: {exc}")
        return None


def check_template(
    tree: Tree, place: Place, template: str, known: Iterable[str]
) -> frozenset[str] | None:
    """The same, with a warning of each name that has no value by default."""
    names = template_names(tree, place, template)
    for name in sorted((names or frozenset()) - set(known)):
        tree.warn(
            place,
            f"{name!r} has no default: the call fails unless it sets it"
            f"{did_you_mean(name, known)}",
        )
    return names


def check_schema(tree: Tree, place: Place, schema: dict[str, Any]) -> bool:
    """Check that a schema is the JSON Schema of an object."""
    problem = problem_of_schema(schema)
    if problem is None and schema.get("type") != "object":
        problem = f"expected type: object, got {describe(schema.get('type'))}"
    if problem is not None:
        tree.error(place, f"not the JSON Schema of an object: {problem}")
    return problem is None


def check_tools(tree: Tree, place: Place, names: Iterable[str]) -> None:
    """Check names of tools: a misspelt one is an error, an unknown one a warning.

    A rule is an error, too, since routes can only give or withhold whole tools. For
    `Bash(git push *)` one route would withhold Bash, and another one nothing.
    """
    for position, name in enumerate(names):
        if tool_names.is_known(name):
            continue
        here = (*place, position) if (*place, position) in tree.lines else place
        tool, bracket, _ = name.partition("(")
        if name == "*" and place == ("blocked_tools",):
            tree.error(here, "'*' withholds every tool: write tools: []")
        elif bracket:
            cure = ""
            if place == ("tools",) and tool.strip() != "Agent":
                cure = "; rules belong in `allow`"
            tree.error(here, f"{name!r}: name the whole tool, {tool.strip()}{cure}")
        else:
            check_tool(tree, here, name)


def check_tool(tree: Tree, place: Place, name: str) -> None:
    """Complain of an unknown tool, which a session may have all the same."""
    # LS was a tool of earlier clients: it is not a misspelt LSP.
    if name != "LS" and (hint := did_you_mean(name, tool_names.KNOWN)):
        tree.error(place, f"there is no tool {name!r}{hint}")
    else:
        tree.warn(place, f"unknown tool {name!r}")


def check_rules(tree: Tree, place: Place, rules: Iterable[str]) -> None:
    """Check that permission rules are valid."""
    for position, text in enumerate(rules):
        rule = parse_rule(text)
        problem = rule if isinstance(rule, str) else ""
        if isinstance(rule, Rule) and not tool_names.is_known(rule.tool):
            problem = f"there is no tool {rule.tool!r}"
            problem += did_you_mean(rule.tool, tool_names.KNOWN)
        if problem:
            tree.error((*place, position), f"{text!r}: {problem}")


def check_variables(tree: Tree, place: Place, variables: Iterable[str]) -> None:
    """Check that each is a name, and hides none that every template has."""
    for name in variables:
        wrong = misnamed([name])
        if wrong or name in RESERVED:
            reserved = "this name is reserved; choose another"
            tree.error((*place, name), wrong[0] if wrong else reserved)


def read_model(tree: Tree, place: Place, model: str, reader: Reader) -> str | None:
    """The model, with the absolute path if it is a file; None if it is invalid."""
    if not is_model(model):
        tree.error(
            place,
            f"expected one of {', '.join(MODEL_NAMES)}, a file ending in {MODEL_FILE} "
            f"or {OF_SERVER}NAME, got {model!r}{did_you_mean(model, MODEL_NAMES)}",
        )
        return None
    if not model.endswith(MODEL_FILE):
        return model
    try:
        path = reader.resolve(model)
        _warn_if_missing(tree, place, path, reader)
        reader.note_model(path)
    except Unreadable as exc:
        tree.error(place, str(exc))
        return None
    return str(path)


def _warn_if_missing(tree: Tree, place: Place, path: Path, reader: Reader) -> None:
    places = [path]
    if reader.home is not None:
        places = model_places(str(path), reader.folder, reader.home / MODELS_FOLDER)
    if not any(os.path.exists(each) for each in places):
        missing = " and no ".join(map(str, places))
        tree.warn(place, f"there is no {missing} yet")
