"""A JSON Schema as the grammar that decoding is held to.

Whatever satisfies the grammar satisfies the schema; what the schema leaves open is
closed where a small model would lose itself: strings and arrays end, an object has the
properties that are named, and there is one space after a colon or a comma.

Source: llguidance, docs/json_schema.md; it refuses what it cannot hold a model to.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llguidance import LLMatcher

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_STRING = 4000
MAX_ITEMS = 64

# The schema's own `x-guidance` cannot change these.
_FORM: Any = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "coerce_one_of": False,
    "lenient": False,
}

# Keywords that hold one schema, a list of them, or some by name.
ONE = ("items", "additionalProperties")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
NAMED = ("properties", "patternProperties", "$defs", "definitions")
# Beside these an object's properties may be named elsewhere, too.
_ELSEWHERE = frozenset({"$ref", "anyOf", "oneOf", "allOf", "patternProperties"})
_WORDS = frozenset({"title", "description", "default", "examples", "$comment"})
_TOP = frozenset({"$defs", "definitions", "$schema", "$id"})


class ShapeRefused(Exception):
    """The schema cannot be compiled; the message says why."""


def grammar_of(schema: dict[str, Any]) -> str:
    """The grammar of a JSON Schema, which was checked to be one.

    Raises:
        ShapeRefused: decoding cannot be held to it.
    """
    grammar = LLMatcher.grammar_from_json_schema(
        json.dumps(narrowed(schema)), overrides=_FORM
    )
    refused = LLMatcher.validate_grammar(grammar)
    if refused and not refused.startswith("WARNING"):
        raise ShapeRefused(f"the schema cannot be compiled: {refused}")
    return grammar


def problem_of_shape(schema: dict[str, Any]) -> str | None:
    """Why a model cannot be held to a schema; None where it can."""
    try:
        grammar_of(schema)
    except ShapeRefused as exc:
        return str(exc)
    return None


def narrowed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what it leaves open closed: whatever it allows, `schema` does.

    Objects stay open throughout where the schema joins several about one object: what
    one names would be closed to the others.
    """
    closes = not any(_joins(part) for part in _parts(schema))
    closed: dict[str, Any] = _narrowed(schema, closes=closes)
    return closed


def _narrowed(schema: Any, *, closes: bool) -> Any:
    if not isinstance(schema, dict):
        return schema
    told = {key: _within(key, said, closes=closes) for key, said in schema.items()}
    if "const" in told or "enum" in told:
        return told
    if _is(told, "string") and not told.keys() & {"pattern", "format"}:
        told.setdefault("maxLength", max(MAX_STRING, told.get("minLength", 0)))
    if _is(told, "array"):
        told.setdefault("maxItems", max(MAX_ITEMS, told.get("minItems", 0)))
    if closes and _is(told, "object") and "properties" in told:
        told.setdefault("additionalProperties", False)
    return told


def _within(key: str, said: Any, *, closes: bool) -> Any:
    """A keyword's value, with every schema in it closed."""
    if key in ONE:
        return _narrowed(said, closes=closes)
    if key in LISTS and isinstance(said, list):
        return [_narrowed(part, closes=closes) for part in said]
    if key in NAMED and isinstance(said, dict):
        return {name: _narrowed(part, closes=closes) for name, part in said.items()}
    return said


def _is(schema: dict[str, Any], kind: str) -> bool:
    kinds = schema.get("type")
    return kind == kinds or (isinstance(kinds, list) and kind in kinds)


def _joins(schema: dict[str, Any]) -> bool:
    """Whether it says two things about one value: then neither knows all of it."""
    said = schema.keys() - _WORDS - _TOP
    return "allOf" in said or bool(said & _ELSEWHERE and len(said) > 1)


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and every one within it."""
    if not isinstance(schema, dict):
        return
    yield schema
    within = [schema.get(key) for key in ONE]
    for key in LISTS:
        within += schema[key] if isinstance(schema.get(key), list) else []
    for key in NAMED:
        within += schema[key].values() if isinstance(schema.get(key), dict) else []
    for part in within:
        yield from _parts(part)
