"""One JSON Schema that says what two say, as far as values are drawn from it. Pure.

What it cannot join it leaves to the check of the whole: a value too many is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    Schema = Mapping[str, Any] | bool

_LARGER = (
    "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties",
)  # fmt: skip
_SMALLER = (
    "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties",
)  # fmt: skip

# What follows from a key.
DEPENDENT = ("dependentRequired", "dependentSchemas", "dependencies")


def merged(one: Schema, other: Schema, *, without: str = "") -> Any:
    """What satisfies both, less a keyword of the first that has been dealt with."""
    if isinstance(one, bool):
        return other if one else False
    rest = {key: part for key, part in one.items() if key != without}
    if isinstance(other, bool):
        return rest if other else False
    for key, part in other.items():
        rest[key] = _both(key, rest[key], part) if key in rest else part
    return rest


def follows(then: Schema | list[str]) -> Schema:
    """What follows from a key, as a schema: some name only the keys."""
    return {"required": then} if isinstance(then, list) else then


def _both(key: str, one: Any, other: Any) -> Any:
    if key == "type":
        return _types(one, other)
    if key == "enum":
        return [each for each in one if each in other] or [None]
    if key in ("required", "allOf"):
        return [*one, *(each for each in other if each not in one)]
    if key in ("properties", "patternProperties"):
        shared = {name: merged(one[name], other[name]) for name in one.keys() & other}
        return {**one, **other, **shared}
    if key in DEPENDENT:
        named = one.keys() & other
        shared = {n: merged(follows(one[n]), follows(other[n])) for n in named}
        return {**one, **other, **shared}
    if key in ("items", "additionalProperties", "propertyNames"):
        return merged(one, other)
    if key in ("anyOf", "oneOf"):
        return [merged(mine, yours) for mine in one for yours in other]
    if key in _LARGER:
        return max(one, other)
    if key in _SMALLER:
        return min(one, other)
    return other


def _types(one: str | list[str], other: str | list[str]) -> list[str]:
    mine = [one] if isinstance(one, str) else one
    theirs = {other} if isinstance(other, str) else {*other}
    if "number" in theirs:
        theirs.add("integer")
    both = [kind for kind in mine if kind in theirs]
    if "number" in mine and "integer" in theirs and "integer" not in both:
        both.append("integer")
    return both
