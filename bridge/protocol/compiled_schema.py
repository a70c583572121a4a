"""A JSON Schema that is ready to check values, in a bounded number of steps.

The library checks in Rust, where neither a signal nor a thread can stop it, and a few
lines of schema can describe 2**40 branches. Only references let a check outgrow the
schema, and only long lists of subschemas let it outgrow the value by far, so each of
these counts its steps. When they are used up, all others fail at once. Steps are
counted, not timed, so that a slow machine judges an answer as a fast one does. Regular
expressions have a limited size and number of tries.

The library finds what is wrong with a value. But for alternatives it lists the errors
of every branch, and of the alternatives inside each, without bound. So alternatives are
followed here, one level at a time, into the branch that the value was meant for.

Source: JSON Schema, drafts 4 to 2020-12; jsonschema-rs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jsonschema_rs as library

from bridge.protocol.keywords import (
    IN_DATA,
    NAMED,
    as_uri,
    part_at,
    subschemas,
    with_numeric_bounds,
)
from bridge.protocol.wording import shortened

# Replaces the value in the library's messages, which would quote all of it.
_MASK = "\ue000"
_MAX_QUOTED = 200
MAX_STEPS = 1_000_000
# How many values of an object or array cost one more step.
_VALUES_PER_STEP = 8
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# The lists of subschemas that a value is held against; shorter ones cost no steps.
_LISTS = ("allOf", "anyOf", "oneOf", "patternProperties")
_LONG_LIST = 32
_SUBSCHEMAS_PER_STEP = 4
# More alternatives than these are not gone through for the one that was meant.
_MAX_ALTERNATIVES = 1_000
# References can form a circle.
_MAX_REFERENCES = 10
# The library checks these, although the drafts make that optional.
_NOTES = ("contentEncoding", "contentMediaType")
# For each `unevaluated…`, the library compiles the targets of all references anew.
_MAX_UNFOLDED = 20_000

# In bytes: the compiled size of one pattern, and of all together.
_PATTERN_BYTES = 10 * 2**20
_ALL_PATTERNS_BYTES = 256 * 2**20
# How often a pattern with lookaround or backreferences may try. Each try may read the
# whole text, so tries times text is limited as well.
_MAX_TRIES = 10_000
_MIN_TRIES = 100
_MAX_TRIED_CHARS = 2_000_000_000
_LOOKS = re.compile(r"\(\?(?:[=!>(]|<[=!])|\\[1-9k]")

_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_-]*\Z")

_ALTERNATIVES = ("anyOf", "oneOf")
_STEPS = "hostbridge:steps"
_ROOT = "urn:hostbridge:schema"
_NEWEST = "https://json-schema.org/draft/2020-12/schema"
_DRAFTS: dict[str, tuple[type[library.Validator], int]] = {
    "draft-04": (library.Draft4Validator, library.Draft4),
    "draft-06": (library.Draft6Validator, library.Draft6),
    "draft-07": (library.Draft7Validator, library.Draft7),
    "2019-09": (library.Draft201909Validator, library.Draft201909),
    "2020-12": (library.Draft202012Validator, library.Draft202012),
}
# In these drafts, a reference hides all keywords beside it.
_OLDER = ("draft-04", "draft-06", "draft-07")


class TooManySteps(Exception):
    """The check would take too long and was stopped."""


class _Steps:
    """Counts the steps of one check; the library calls it at each reference."""

    def __init__(self) -> None:
        self.left = MAX_STEPS
        self._sizes: dict[int, int] = {}

    def __call__(self, _part: object, times: int, _place: object) -> _Counting:
        """Called by the library to make a keyword."""
        return _Counting(self, times)

    def take(self, value: object, times: int) -> None:
        """Count what it takes to hold a value against so many subschemas."""
        self.left -= times * (1 + self._size(value) // _VALUES_PER_STEP)
        if self.left < 0:
            raise TooManySteps

    def _size(self, value: object) -> int:
        """The number of values in a value."""
        if not isinstance(value, dict | list):
            return 1
        size = self._sizes.get(id(value))
        if size is None:
            parts = value.values() if isinstance(value, dict) else value
            size = self._sizes[id(value)] = 1 + sum(map(self._size, parts))
        return size


class _Counting(NamedTuple):
    """The keyword at a reference or a long list; an exception means invalid."""

    steps: _Steps
    times: int

    def validate(self, value: object) -> None:
        """Called by the library to check a keyword."""
        self.steps.take(value, self.times)


class CompiledSchema:
    """A schema, ready to check `values`; a JSON pointer names each of its parts.

    All checks together may take `MAX_STEPS`.
    """

    def __init__(self, schema: dict[str, Any], values: Sequence[Any] = ()) -> None:
        """Compile a schema.

        Raises:
            ValueError: it cannot be used; `jsonschema_rs.ValidationError` names the
                place.
            TooManySteps: the schema, or the text to match, is too large.
        """
        said = schema.get("$schema", _NEWEST)
        draft = next((d for d in _DRAFTS if isinstance(said, str) and d in said), "")
        if "draft-03" in str(said):
            raise ValueError("it is written in draft 3; draft 4 is the oldest known")
        self._kind, number = _DRAFTS[draft or "2020-12"]
        if not draft and isinstance(said, str):
            schema = {**schema, "$schema": _NEWEST}
        if "$schema" not in schema:
            schema = with_numeric_bounds(schema)
        library.meta.validate(schema)
        self.root = _counted(schema, is_older=draft in _OLDER)
        if "unevaluated" in str(schema) and _unfolded(schema) > _MAX_UNFOLDED:
            raise TooManySteps
        self._steps = _Steps()
        registry = library.Registry([(_ROOT, self.root)], draft=number)
        self._options: dict[str, Any] = {
            "registry": registry,
            "mask": _MASK,
            "offline": True,
            "pattern_options": _pattern_options(schema, values),
            "validate_formats": False,
        }
        self._validators: dict[tuple[str, bool], library.Validator] = {}
        self.is_valid("", None)

    def is_valid(self, pointer: str, value: Any) -> bool:
        """Whether the part of the schema at `pointer` allows a value.

        Raises:
            TooManySteps: it takes too long to find out.
        """
        is_valid = self._validator(pointer).is_valid(value)
        if self._steps.left < 0:
            raise TooManySteps
        return is_valid

    def fault_in(self, value: Any) -> str:
        """What is wrong with a value that the schema does not allow, place first."""
        pointer, path = "", []
        while error := self._first_error(pointer, value):
            path += error.instance_path
            value = error.instance
            is_ours = isinstance(error.kind, library.ValidationErrorKind.Custom)
            branches = self.branches_at(error.schema_path) if is_ours else []
            if len(branches) > _MAX_ALTERNATIVES:
                branches = []
            meant = [each for each in branches if self._is_meant(each, value)]
            if len(meant) != 1:
                return f"{place_of(path)}: {message_of(error, value)}"
            pointer = meant[0]
        return f"{place_of(path)}: {_shown(value)} is not allowed by the schema"

    def _first_error(self, pointer: str, value: Any) -> library.ValidationError | None:
        for finds_fault in (True, False):
            try:
                self._validator(pointer, finds_fault=finds_fault).validate(value)
            except library.ValidationError as error:
                if isinstance(error.__cause__, RecursionError):
                    raise error.__cause__ from None
                if self._steps.left < 0:
                    raise TooManySteps from None
                return error
        return None

    def branches_at(self, place: Sequence[str | int]) -> list[str]:
        """The pointers of the alternatives at a place."""
        pointer = _pointer(place)
        count = len(part_at(self.root, f"#{pointer}"))
        return [f"{pointer}/{n}" for n in range(count)]

    def _is_meant(self, pointer: str, value: Any) -> bool:
        """Whether a value has the type and the constants of an alternative."""
        part = part_at(self.root, f"#{pointer}")
        for _ in range(_MAX_REFERENCES):
            if not isinstance(part, dict):
                return bool(part)
            # A reference has become an `allOf` with one; see `_counted`.
            parts = (each for each in part.get("allOf", ()) if isinstance(each, dict))
            references = (each["$ref"] for each in parts if "$ref" in each)
            part = part_at(self.root, next(references, "")) or part
        fixed = {
            name: {key: each[key] for key in ("const", "enum") if key in each}
            for name, each in part.get("properties", {}).items()
            if isinstance(each, dict)
        }
        marks = {key: part[key] for key in ("type", "const", "enum") if key in part}
        return self._kind({**marks, "properties": fixed}).is_valid(value)

    def _validator(
        self, pointer: str, *, finds_fault: bool = False
    ) -> library.Validator:
        if (pointer, finds_fault) not in self._validators:
            keywords: dict[str, Any] = {_STEPS: self._steps}
            if finds_fault:
                keywords |= dict.fromkeys(_ALTERNATIVES, partial(_Alternatives, self))
            reference = f"{_ROOT}{as_uri(f'#{pointer}')}"
            part = {"$ref": reference} if pointer else self.root
            made = self._kind(part, keywords=keywords, **self._options)
            self._validators[pointer, finds_fault] = made
        return self._validators[pointer, finds_fault]


class _Alternatives:
    """`anyOf` or `oneOf` in the search for a fault: without the branches' errors."""

    def __init__(
        self,
        schema: CompiledSchema,
        _part: dict[str, Any],
        branches: list[Any],
        place: list[str | int],
    ) -> None:
        """Called by the library to make a keyword."""
        self._schema = schema
        *above, self._key = place
        self._part = _pointer(above)
        # Below an `$id` of its own, a place is not one in the whole schema.
        is_here = part_at(schema.root, f"#{_pointer(place)}") == branches
        self._branches = schema.branches_at(place) if is_here else []

    def validate(self, value: object) -> None:
        """Called by the library to check a keyword: an exception means invalid."""
        if not self._branches or self._schema.is_valid(self._part, value):
            return
        if len(self._branches) > _MAX_ALTERNATIVES:
            how_many = "exactly one" if self._key == "oneOf" else "any"
            where = f"{how_many} of the schemas in {self._key!r}"
            raise ValueError(f"{_MASK} is not valid under {where}")
        fitting = sum(self._schema.is_valid(each, value) for each in self._branches)
        if not fitting:
            where = f"any of the schemas in {self._key!r}"
            raise ValueError(f"{_MASK} is not valid under {where}")
        if fitting > 1 and self._key == "oneOf":
            where = "more than one of the schemas in 'oneOf'"
            raise ValueError(f"{_MASK} is valid under {where}")


def place_of(path: Iterable[str | int]) -> str:
    """A path in JSON, as in `$.name[0]['another name']`."""
    return "$" + "".join(
        f".{step}" if _PLAIN_NAME.match(str(step)) else f"[{step!r}]" for step in path
    )


def message_of(error: library.ValidationError, value: Any) -> str:
    """What the library says, with the value cut short."""
    if isinstance(error.kind, library.ValidationErrorKind.BacktrackLimitExceeded):
        return (
            "it takes too many tries to match the pattern here; write it without "
            "nested repetition"
        )
    if isinstance(error.kind, library.ValidationErrorKind.FalseSchema):
        return f"{_shown(value)} is not allowed here"
    return error.message.replace(_MASK, _shown(value))


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _MAX_QUOTED)


def _pointer(path: Iterable[str | int]) -> str:
    return "".join(
        f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path
    )


def _counted(part: Any, *, is_older: bool) -> Any:
    """The schema with references that count their steps; pointers stay valid."""
    if isinstance(part, list):
        return [_counted(each, is_older=is_older) for each in part]
    if not isinstance(part, dict):
        return part
    new: dict[str, Any] = {}
    for key, said in part.items():
        if key in _NOTES:
            continue
        if key in NAMED and isinstance(said, dict):
            new[key] = {n: _counted(p, is_older=is_older) for n, p in said.items()}
        else:
            new[key] = said if key in IN_DATA else _counted(said, is_older=is_older)
    references = [
        {key: as_uri(new.pop(key))}
        for key in _REFERENCES
        if isinstance(new.get(key), str)
    ]
    if references and is_older:
        new = {k: v for k, v in new.items() if k in ("$schema", "$defs", "definitions")}
    listed = sum(len(new.get(key, ())) for key in _LISTS)
    times = listed // _SUBSCHEMAS_PER_STEP if listed >= _LONG_LIST else 0
    if references or times:
        steps = {_STEPS: max(1, times)}
        new["allOf"] = [*new.get("allOf", ()), steps, *references]
    return new


def _unfolded(schema: dict[str, Any]) -> int:
    """The size of a schema with each reference replaced by its target.

    A reference to a schema that contains it counts as one.
    """
    sizes: dict[str, int] = {}

    def size(part: Any) -> int:
        total = 1
        for _, each in subschemas(part):
            total += 1
            for key in _REFERENCES:
                if isinstance(reference := each.get(key), str):
                    total += referred(reference)
        return total

    def referred(reference: str) -> int:
        if reference not in sizes:
            sizes[reference] = 1
            sizes[reference] = size(part_at(schema, reference) or {})
        return sizes[reference]

    return size(schema)


def _pattern_options(
    schema: dict[str, Any], values: Sequence[Any]
) -> library.FancyRegexOptions:
    patterns = set(_patterns(schema))
    looking = [pattern for pattern in patterns if _LOOKS.search(pattern)]
    # With lookaround, each group of a pattern is compiled by itself.
    compiled = len(patterns) + sum(pattern.count("(") for pattern in looking)
    tries = _MAX_TRIES
    if looking and values:
        tries = _MAX_TRIED_CHARS // (len(looking) * len(json.dumps(values)))
    if tries < _MIN_TRIES:
        raise TooManySteps
    return library.FancyRegexOptions(
        backtrack_limit=min(tries, _MAX_TRIES),
        size_limit=min(_PATTERN_BYTES, _ALL_PATTERNS_BYTES // max(1, compiled)),
    )


def _patterns(schema: dict[str, Any]) -> Iterator[str]:
    for _, part in subschemas(schema):
        yield from part.get("patternProperties", ())
        if isinstance(pattern := part.get("pattern"), str):
            yield pattern
