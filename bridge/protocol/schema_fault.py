"""Name one place where a value breaks its schema, and the rule that it breaks.

The library can list every error with its causes, but for nested alternatives that list
grows without bound. So this follows only the parts that fail, down to the first broken
rule. Of several alternatives it follows the one that the value was meant for.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind

from bridge.protocol.compiled_schema import MASK, REFERENCES, CompiledSchema
from bridge.protocol.keywords import NAMED, SCHEMAS, part_at
from bridge.protocol.wording import shortened

_MAX_VALUE = 200
# References can form a circle.
_MAX_REFERENCES = 10
_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_-]*\Z")


def fault_in(schema: CompiledSchema, value: Any) -> str:
    """What is wrong with a value that a schema does not allow, place first."""
    return _fault(schema, "", value, [])


def place_of(path: Iterable[str | int]) -> str:
    """A path in JSON, as in `$.name[0]['another name']`."""
    return "$" + "".join(
        f".{step}" if _PLAIN_NAME.match(str(step)) else f"[{step!r}]" for step in path
    )


def message_of(error: ValidationError, value: Any) -> str:
    """What the library says, with the value cut short."""
    if isinstance(error.kind, ValidationErrorKind.BacktrackLimitExceeded):
        return (
            "it takes too many tries to match the pattern here; write it without "
            "nested repetition"
        )
    return error.message.replace(MASK, _shown(value))


def _fault(
    schema: CompiledSchema, pointer: str, value: Any, path: list[str | int]
) -> str:
    part = part_at(schema.root, f"#{pointer}")
    if not isinstance(part, dict):
        return f"{place_of(path)}: {_shown(value)} is not allowed here"
    for error in schema.errors_alone(_own_rules(part), value):
        return f"{place_of(path)}: {message_of(error, value)}"
    for below, step in _applied(schema, part, pointer, value):
        child = value if step is None else value[step]
        if not schema.is_valid(below, child):
            return _fault(schema, below, child, path if step is None else [*path, step])
    for key in ("anyOf", "oneOf"):
        branches = [f"{pointer}/{key}/{n}" for n in range(len(part.get(key, ())))]
        if branches and not any(schema.is_valid(each, value) for each in branches):
            meant = [each for each in branches if _is_meant(schema, each, value)]
            if len(meant) == 1:
                return _fault(schema, meant[0], value, path)
            said = f"{_shown(value)} is not valid under any of the schemas in {key!r}"
            return f"{place_of(path)}: {said}"
    for error in schema.errors(pointer, value):
        place = place_of([*path, *error.instance_path])
        return f"{place}: {message_of(error, value)}"
    return f"{place_of(path)}: {_shown(value)} is not allowed by the schema"


def _own_rules(part: dict[str, Any]) -> dict[str, Any]:
    """The rules of a schema without its subschemas.

    The names of the properties stay if no others are allowed.
    """
    others = (NAMED, SCHEMAS, REFERENCES, ("$schema", "$id", "id"))
    own = {k: v for k, v in part.items() if not any(k in keys for keys in others)}
    if part.get("additionalProperties") is False:
        own["additionalProperties"] = False
        for key in ("properties", "patternProperties"):
            own[key] = {name: {} for name in part.get(key, ())}
    return own


def _applied(
    schema: CompiledSchema, part: dict[str, Any], pointer: str, value: Any
) -> Iterator[tuple[str, str | int | None]]:
    """The subschemas that apply, each with the step to the part of the value."""
    reference = part.get("$ref")
    if isinstance(reference, str) and part_at(schema.root, reference) is not None:
        yield reference[1:], None
    for n in range(len(part.get("allOf", ()))):
        yield f"{pointer}/allOf/{n}", None
    if "if" in part:
        branch = "then" if schema.is_valid(f"{pointer}/if", value) else "else"
        if branch in part:
            yield f"{pointer}/{branch}", None
    if isinstance(value, dict):
        yield from _of_properties(part, pointer, value)
    if isinstance(value, list):
        yield from _of_items(part, pointer, value)


def _of_properties(
    part: dict[str, Any], pointer: str, value: dict[str, Any]
) -> Iterator[tuple[str, str | int | None]]:
    named = part.get("properties", {})
    matched = part.get("patternProperties", {})
    for name in value:
        if name in named:
            yield f"{pointer}/properties/{_escaped(name)}", name
        elif not matched and isinstance(part.get("additionalProperties"), dict):
            yield f"{pointer}/additionalProperties", name


def _of_items(
    part: dict[str, Any], pointer: str, value: list[Any]
) -> Iterator[tuple[str, str | int | None]]:
    items = part.get("items")
    first = part.get("prefixItems", items if isinstance(items, list) else ())
    for n in range(len(value)):
        if n < len(first):
            key = "prefixItems" if "prefixItems" in part else "items"
            yield f"{pointer}/{key}/{n}", n
        elif isinstance(items, dict):
            yield f"{pointer}/items", n


def _is_meant(schema: CompiledSchema, pointer: str, value: Any) -> bool:
    """Whether a value has the type and the constants of an alternative."""
    part = part_at(schema.root, f"#{pointer}")
    for _ in range(_MAX_REFERENCES):
        if not isinstance(part, dict):
            return False
        # A reference has become an `allOf` with one; see `compiled_schema`.
        references = (each.get("$ref") for each in part.get("allOf", ()))
        part = part_at(schema.root, next(filter(None, references), "")) or part
    fixed = {
        name: {key: each[key] for key in ("const", "enum") if key in each}
        for name, each in part.get("properties", {}).items()
        if isinstance(each, dict)
    }
    mark = {key: part[key] for key in ("type", "const", "enum") if key in part}
    return not any(schema.errors_alone({**mark, "properties": fixed}, value))


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _MAX_VALUE)
