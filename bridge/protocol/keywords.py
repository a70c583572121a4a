"""The keywords of JSON Schema, and the parts of a schema.

JSON Schema allows unknown keywords, so there a misspelt one is no error and constrains
nothing. For a caller who wants a typed answer it is an error.

Source: JSON Schema, drafts 4 to 2020-12, the core and validation vocabularies.
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from bridge.hints import did_you_mean

_VALUES = """
    $schema $id id $anchor $dynamicAnchor $recursiveAnchor $ref $dynamicRef
    $recursiveRef $vocabulary $comment title description default examples deprecated
    readOnly writeOnly type enum const format multipleOf maximum exclusiveMaximum
    minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems
    maxContains minContains maxProperties minProperties required dependentRequired
    contentEncoding contentMediaType
"""
# Their value is a schema or a list of schemas.
_SCHEMAS = """
    items additionalItems prefixItems unevaluatedItems contains additionalProperties
    unevaluatedProperties propertyNames not if then else allOf anyOf oneOf contentSchema
"""
# Their value maps names to schemas.
_NAMED = """
    $defs definitions properties patternProperties dependentSchemas dependencies
"""
# Source: RFC 3986, "Fragment".
_NOT_OF_URI = re.compile(r"%(?![0-9A-Fa-f]{2})|[^!#$%&'()*+,./0-9:;=?@A-Z_a-z~-]")
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
SCHEMAS = frozenset(_SCHEMAS.split())
NAMED = frozenset(_NAMED.split())
# Their value is data, even if it looks like a schema.
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


def with_numeric_bounds(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as the newer drafts say it, also where a bound is draft 4's.

    There `exclusiveMinimum` is true or false, beside `minimum`; OpenAPI 3.0 and others
    write it so, and name no draft.
    """
    if "exclusiveM" not in str(schema):
        return schema
    made = deepcopy(schema)
    for _, part in subschemas(made):
        for limit in ("minimum", "maximum"):
            exclusive = f"exclusiveM{limit[1:]}"
            if part.get(exclusive) is False:
                del part[exclusive]
            elif part.get(exclusive) is True and limit in part:
                part[exclusive] = part.pop(limit)
    return made


def as_uri(reference: str) -> str:
    """A reference in the same schema as a URI: `#/$defs/Page<Item>`, too."""
    if not reference.startswith("#") or not _NOT_OF_URI.search(reference):
        return reference
    from urllib.parse import quote

    return _NOT_OF_URI.sub(lambda sign: quote(sign[0]), reference)


def part_at(schema: Any, reference: str) -> Any:
    """The part of a schema at a JSON pointer (`#/…`); None if there is none."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    place = schema
    for name in reference.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if "%" in key and not (isinstance(place, dict) and key in place):
            from urllib.parse import unquote

            key = unquote(key)
        if isinstance(place, list) and key.isdecimal() and int(key) < len(place):
            place = place[int(key)]
        else:
            place = place.get(key) if isinstance(place, dict) else None
    return place


def constrains_nothing(schema: dict[str, Any]) -> bool:
    """Whether a schema holds keywords, and none that JSON Schema knows."""
    return bool(schema) and not KEYWORDS & schema.keys()


def unknown_type(value: Any) -> str | None:
    """What is wrong with the value of `type`; None unless it is an unknown name."""
    names = value if isinstance(value, list) else [value]
    wrong = [n for n in names if isinstance(n, str) and n not in TYPES]
    if not wrong:
        return None
    hint = did_you_mean(wrong[0], TYPES, most=1) or f"; types are: {', '.join(TYPES)}"
    return f"JSON Schema has no type {wrong[0]!r}{hint}"


def misspelt_keywords(schema: dict[str, Any]) -> Iterator[str]:
    """Describe each unknown keyword that looks like a known one, place first.

    Also each in a schema that has no known keyword.
    """
    for place, part in subschemas(schema):
        alone = constrains_nothing(part)
        for key in part:
            if key not in KEYWORDS:
                hint = did_you_mean(key, KEYWORDS, most=1, cutoff=0.75)
                if hint or alone:
                    yield f"{place}: JSON Schema has no keyword {key!r}{hint}"
