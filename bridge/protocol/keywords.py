"""The keywords of JSON Schema: those that a validator obeys, and those it ignores.

JSON Schema lets a schema hold any other keyword, so a misspelt one constrains nothing
and is no error there. For a caller who wants a typed answer it is one.

Source: JSON Schema, drafts 4 to 2020-12, the core and validation vocabularies.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_VALUES = """
    $schema $id id $anchor $dynamicAnchor $recursiveAnchor $ref $dynamicRef
    $recursiveRef $vocabulary $comment title description default examples deprecated
    readOnly writeOnly type enum const format multipleOf maximum exclusiveMaximum
    minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems
    maxContains minContains maxProperties minProperties required dependentRequired
    contentEncoding contentMediaType
"""
# Under these stands a schema, or a list of them.
_SCHEMAS = """
    items additionalItems prefixItems unevaluatedItems contains additionalProperties
    unevaluatedProperties propertyNames not if then else allOf anyOf oneOf contentSchema
"""
# Under these stand schemas by name.
_NAMED = """
    $defs definitions properties patternProperties dependentSchemas dependencies
"""
SCHEMAS = frozenset(_SCHEMAS.split())
NAMED = frozenset(_NAMED.split())
# Under these stands any value: what looks like a schema there is none.
IN_DATA = frozenset({"const", "enum", "default", "examples"})
KEYWORDS = frozenset({*_VALUES.split(), *SCHEMAS, *NAMED})


def subschemas(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a schema, itself first, each with its place."""
    waiting: list[tuple[str, Any]] = [("$", schema)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, list):
            waiting += [(f"{place}[{i}]", each) for i, each in enumerate(part)]
        if not isinstance(part, dict):
            continue
        yield place, part
        for key, value in part.items():
            if key in SCHEMAS:
                waiting.append((f"{place}.{key}", value))
            elif key in NAMED and isinstance(value, dict):
                waiting += [(f"{place}.{key}.{n}", each) for n, each in value.items()]


def constrains_nothing(schema: dict[str, Any]) -> bool:
    """Whether a schema holds keywords, and none that JSON Schema knows."""
    return bool(schema) and not KEYWORDS & schema.keys()


def misspelt_keywords(schema: dict[str, Any]) -> Iterator[str]:
    """Describe each unknown keyword that looks like a known one, place first.

    Also each that stands in a schema with no known one beside it.
    """
    for place, part in subschemas(schema):
        alone = constrains_nothing(part)
        for key in part:
            if key not in KEYWORDS:
                near = get_close_matches(key, sorted(KEYWORDS), n=1, cutoff=0.75)
                if near or alone:
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    yield f"{place}: JSON Schema has no keyword {key!r}{hint}"
