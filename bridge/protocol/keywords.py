"""The keywords of JSON Schema: what a validator obeys, told from what it passes over.

JSON Schema lets a schema hold any other keyword, so a slip of the pen constrains
nothing and is no error there. For a caller who wants a typed answer it is one.

Source: JSON Schema, drafts 4 to 2020-12, the core and validation vocabularies.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# By what stands under them: other values, one schema or a list of them, named schemas.
_VALUES = """
    $schema $id id $anchor $dynamicAnchor $recursiveAnchor $ref $dynamicRef
    $recursiveRef $vocabulary $comment title description default examples deprecated
    readOnly writeOnly type enum const format multipleOf maximum exclusiveMaximum
    minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems
    maxContains minContains maxProperties minProperties required dependentRequired
    contentEncoding contentMediaType
"""
_SCHEMAS = """
    items additionalItems prefixItems unevaluatedItems contains additionalProperties
    unevaluatedProperties propertyNames not if then else allOf anyOf oneOf contentSchema
"""
_NAMED = """
    $defs definitions properties patternProperties dependentSchemas dependencies
"""
_ONE = frozenset(_SCHEMAS.split())
_MANY = frozenset(_NAMED.split())
KEYWORDS = frozenset({*_VALUES.split(), *_ONE, *_MANY})


def constrains_nothing(schema: dict[str, Any]) -> bool:
    """Whether a schema holds keywords, and none that JSON Schema knows."""
    return bool(schema) and not KEYWORDS & schema.keys()


def slips(schema: dict[str, Any]) -> Iterator[str]:
    """Describe each unknown keyword that looks like a known one, place first.

    Also each that stands in a schema with no known one beside it.
    """
    waiting: list[tuple[str, Any]] = [("$", schema)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, list):
            waiting += [(f"{place}[{i}]", each) for i, each in enumerate(part)]
        if not isinstance(part, dict):
            continue
        alone = constrains_nothing(part)
        for key, value in part.items():
            if key in _ONE:
                waiting.append((f"{place}.{key}", value))
            elif key in _MANY and isinstance(value, dict):
                named = [
                    (f"{place}.{key}.{name}", each) for name, each in value.items()
                ]
                waiting += named
            elif key not in KEYWORDS:
                near = get_close_matches(key, sorted(KEYWORDS), n=1, cutoff=0.75)
                if near or alone:
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    yield f"{place}: JSON Schema has no keyword {key!r}{hint}"
