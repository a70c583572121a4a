"""Validators of JSON Schema that come to an end: every step is counted.

A schema may be written so that checking a small answer against it takes years: by a
pattern, by branches that double at each level, by items compared each with each. Here
patterns are matched as `patterns` does it, unique items are told by their text, and all
else is given up after `MAX_STEPS`. Counted, not timed: an answer is worth the same on a
slow machine, and the same tomorrow.

Source: JSON Schema, drafts 3 to 2020-12; `jsonschema`, whose validators these extend.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import jsonschema

from bridge.protocol.patterns import PatternRefused, pattern_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bridge.protocol.patterns import Pattern

    Keyword = Callable[[Any, Any, Any, Any], Iterator[jsonschema.ValidationError]]
    Kind = type[jsonschema.protocols.Validator]

# A step is about a microsecond; what takes longer counts as several.
MAX_STEPS = 5_000_000
_PART_STEPS = 5
_REFERENCE_STEPS = 25
_EVALUATED_STEPS = 25
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

# Of the interpreter's stack, what one keyword in another takes, and what is left alone.
_LEVEL_FRAMES = 6
_SPARE_FRAMES = 150


@dataclass(slots=True)
class _Budget:
    steps: int
    levels: int
    patterns: dict[str, Pattern] = field(default_factory=dict)


_left: ContextVar[_Budget] = ContextVar("_left")


class TooManySteps(Exception):
    """The check is given up: it would have gone on for too long."""


@contextmanager
def counted_steps() -> Iterator[None]:
    """Give all that validators do inside `MAX_STEPS` steps together, and their depth.

    The library's part in Rust does not survive the end of the stack: it panics, with
    pages on stderr. So the depth ends before that.

    Raises:
        TooManySteps: that was not enough.
        RecursionError: nested too deeply.
    """
    room = sys.getrecursionlimit() - _frames() - _SPARE_FRAMES
    token = _left.set(_Budget(MAX_STEPS, room // _LEVEL_FRAMES))
    try:
        yield
    finally:
        _left.reset(token)


def spend(steps: int) -> None:
    """Count steps; outside `counted_steps` nothing is counted.

    Raises:
        TooManySteps: none are left.
    """
    left = _left.get(None)
    if left is None:
        return
    left.steps -= steps
    if left.steps < 0:
        raise TooManySteps


@contextmanager
def _level() -> Iterator[None]:
    """One keyword in another."""
    left = _left.get(None)
    if left is None:
        yield
        return
    left.levels -= 1
    try:
        if left.levels < 0:
            raise RecursionError
        yield
    finally:
        left.levels += 1


def _frames() -> int:
    """How deep the interpreter's stack is."""
    frame, count = sys._getframe(), 0  # noqa: SLF001
    while (above := frame.f_back) is not None:
        frame, count = above, count + 1
    return count


@cache
def bounded(kind: Any) -> Kind:
    """The validator class of a draft, with every keyword counted."""
    theirs: dict[str, Any] = dict(kind.VALIDATORS)
    keywords = {
        name: _counted(_OURS.get(name, keyword), is_reference=name in _REFERENCES)
        for name, keyword in theirs.items()
    }
    extend: Any = jsonschema.validators.extend
    made = extend(kind, keywords)
    plain = made.evolve

    def evolve(self: Any, **changes: Any) -> Any:
        is_near = changes.get("_resolver", self._resolver) is self._resolver
        spend(_PART_STEPS if is_near else _REFERENCE_STEPS)
        evolved = plain(self, **changes)
        if type(evolved) is made:
            return evolved
        # The part names its draft, and the library took its own class for that.
        named: Any = type(evolved)
        other: Any = bounded(named)
        return other(
            evolved.schema,
            format_checker=evolved.format_checker,
            registry=evolved._registry,  # noqa: SLF001
            _resolver=evolved._resolver,  # noqa: SLF001
        )

    made.evolve = evolve
    bounded_kind: Kind = made
    return bounded_kind


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern matches anywhere in a text; counted.

    Raises:
        PatternRefused: the pattern is none, or to find out takes too long.
    """
    return _known(pattern).is_in(text, spend=spend)


def is_pattern(text: object) -> bool:
    """Whether a text is a pattern; what is no text is none of our business.

    Raises:
        PatternRefused: it is none.
    """
    return not isinstance(text, str) or bool(_known(text))


def _known(text: str) -> Pattern:
    """A pattern: compiled, and paid for, once in a check."""
    left = _left.get(None)
    known = left.patterns if left else {}
    if text not in known:
        known[text] = pattern_of(text, spend=spend)
    return known[text]


FORMATS = jsonschema.FormatChecker(formats=())
FORMATS.checks("regex", raises=PatternRefused)(is_pattern)


def _counted(keyword: Keyword, *, is_reference: bool) -> Keyword:
    def counted(
        validator: Any, said: Any, value: Any, schema: Any
    ) -> Iterator[jsonschema.ValidationError]:
        # A reference is followed name by name.
        way = said.count("/") if is_reference and isinstance(said, str) else 0
        spend(1 + way + _size(said) // 8 + _size(value) // 8)
        with _level():
            yield from _found(keyword(validator, said, value, schema) or ())

    return counted


def _found(
    errors: Iterable[jsonschema.ValidationError],
) -> Iterator[jsonschema.ValidationError]:
    for error in errors:
        # A message quotes the value, however large, and is kept.
        spend(len(error.message) // 16)
        yield error


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (list, dict)) else 0


def _pattern(
    validator: Any, said: Any, value: Any, _schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if validator.is_type(value, "string") and not matches(said, value):
        yield jsonschema.ValidationError(f"{value!r} does not match {said!r}")


def _pattern_properties(
    validator: Any, said: Any, value: Any, _schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if not validator.is_type(value, "object"):
        return
    for pattern, part in said.items():
        for name, each in value.items():
            if matches(pattern, name):
                yield from validator.descend(each, part, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, said: Any, value: Any, schema: Any
) -> Iterator[jsonschema.ValidationError]:
    """As the library has it, which would match the patterns by itself."""
    patterns = schema.get("patternProperties")
    if patterns and validator.is_type(value, "object"):
        named = {**schema.get("properties", {}), **_matched(patterns, value)}
        schema = {"properties": named}
    keyword = jsonschema.Draft202012Validator.VALIDATORS["additionalProperties"]
    yield from keyword(validator, said, value, schema) or ()


def _unevaluated_properties(
    validator: Any, said: Any, value: Any, schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if not validator.is_type(value, "object"):
        return
    known = _evaluated(validator, value, schema)
    odd = [
        name
        for name in value
        if name not in known and not _is_valid(validator, value[name], said)
    ]
    if odd:
        yield jsonschema.ValidationError(
            "Unevaluated properties are not allowed "
            f"({', '.join(map(repr, odd))} {'was' if len(odd) == 1 else 'were'} "
            "unexpected)"
        )


def _evaluated(validator: Any, value: dict[str, Any], schema: Any) -> set[str]:
    """The properties that any keyword of `schema`, or of what it refers to, is about.

    The library's own matches patterns by itself. `validator` is that of `schema`.
    """
    with _level():
        return _evaluated_by(validator, value, schema)


def _evaluated_by(validator: Any, value: dict[str, Any], schema: Any) -> set[str]:
    spend(_EVALUATED_STEPS)
    if not isinstance(schema, dict):
        return set()
    found = set(schema.get("properties", {}).keys() & value.keys())
    found |= _matched(schema.get("patternProperties", {}), value).keys()
    for key in ("additionalProperties", "unevaluatedProperties"):
        if key in schema:
            part = schema[key]
            found |= {n for n in value if _is_valid(validator, value[n], part)}
    for key in _REFERENCES:
        if key in schema:
            told = _looked_up(validator, key, schema[key])
            there = validator.evolve(schema=told.contents, _resolver=told.resolver)
            found |= _evaluated(there, value, told.contents)
    for part in _applied(validator, value, schema):
        found |= _evaluated(validator.evolve(schema=part), value, part)
    return found


def _applied(validator: Any, value: dict[str, Any], schema: Any) -> Iterator[Any]:
    """The parts of a schema that hold for the same value, and do."""
    for name, part in schema.get("dependentSchemas", {}).items():
        if name in value:
            yield part
    for key in ("allOf", "oneOf", "anyOf"):
        for part in schema.get(key, ()):
            if _is_valid(validator, value, part):
                yield part
    if "if" in schema:
        holds = _is_valid(validator, value, schema["if"])
        if holds:
            yield schema["if"]
        yield schema.get("then" if holds else "else", True)


def _looked_up(validator: Any, key: str, reference: str) -> Any:
    resolver = validator._resolver  # noqa: SLF001
    if key == "$recursiveRef":
        from referencing.jsonschema import lookup_recursive_ref

        return lookup_recursive_ref(resolver)
    return resolver.lookup(reference)


def _matched(patterns: Any, value: dict[str, Any]) -> dict[str, bool]:
    """The properties whose names match any of the patterns."""
    # One pattern after the other: so many are kept compiled, and no more.
    return {n: True for p in patterns for n in value if matches(p, n)}


def _is_valid(validator: Any, value: Any, schema: Any) -> bool:
    return next(validator.descend(value, schema), None) is None


def _unique_items(
    validator: Any, said: Any, value: Any, _schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if not said or not validator.is_type(value, "array"):
        return
    seen = set()
    for item in value:
        text = json.dumps(_whole(item), sort_keys=True)
        spend(3 + len(text) // 64)
        if text in seen:
            yield jsonschema.ValidationError(f"{value!r} has non-unique elements")
            return
        seen.add(text)


def _whole(value: Any) -> Any:
    """The value with one spelling for each number: 1.0 is 1."""
    if isinstance(value, dict):
        return {key: _whole(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_OURS: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "uniqueItems": _unique_items,
}
