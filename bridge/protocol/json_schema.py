"""Check a value against a JSON Schema that any program wrote, and the schema itself.

Both come to an end, whatever the schema: see `bounded`.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema
import referencing.jsonschema
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

from bridge.protocol.bounded import FORMATS, TooManySteps, bounded, counted_steps
from bridge.protocol.patterns import PatternRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_ERRORS = 100
_TOO_DEEP = "the answer is nested too deeply for its schema"
_MAX_COMPLAINT = 600


def problem_of(schema: dict[str, Any], value: Any) -> str | None:
    """What is wrong with `value` under `schema`, place first; None for nothing.

    Source: JSON Schema, draft 2020-12 unless `$schema` says otherwise.
    """
    return problems_of(schema, [value])[0]


def problems_of(schema: dict[str, Any], values: Sequence[Any]) -> list[str | None]:
    """What is wrong with each of `values`, as `problem_of` has it.

    All of them together have the steps of one.
    """
    try:
        validator = _validator(schema)
    except Exception as exc:  # noqa: BLE001 - a schema that any program wrote, unchecked
        return [_unusable(exc)] * len(values)
    with counted_steps():
        return [_problem_of(validator, value) for value in values]


def _problem_of(validator: jsonschema.protocols.Validator, value: Any) -> str | None:
    try:
        errors = islice(validator.iter_errors(value), _MAX_ERRORS)
        error = jsonschema.exceptions.best_match(errors)
    except RecursionError:
        return _TOO_DEEP
    except TooManySteps:
        return (
            "the answer could not be checked against its schema: that takes too many "
            "steps; a shorter answer, or a simpler schema, takes fewer"
        )
    except PatternRefused as exc:
        return f"the answer could not be checked: the pattern {_short(str(exc))}"
    except Exception as exc:  # noqa: BLE001 - the same
        return _unusable(exc)
    if error is None:
        return None
    return f"{error.json_path}: {_short(error.message)}"


def _unusable(exc: Exception) -> str:
    return f"the schema cannot be used: {_short(str(exc))}"


def problem_of_schema(schema: dict[str, Any]) -> str | None:
    """What is wrong with a caller's schema itself, place first; None for nothing."""
    try:
        with counted_steps():
            error = next(_errors_of_schema(schema), None)
        if error is not None:
            return f"{error.json_path}: {_short(error.message)}"
        validator = _validator(schema)
        for reference in _references(schema):
            validator._resolver.lookup(reference)  # type: ignore[attr-defined]  # noqa: SLF001
    except TooManySteps:
        return "cannot be used: it is too large to be checked"
    except Exception as exc:  # noqa: BLE001 - whatever a caller can think of
        return f"cannot be used: {_short(str(exc))}"
    except BaseException as exc:
        if _is_panic(exc):
            return "cannot be used: it is nested too deeply"
        raise
    return None


def _is_panic(exc: BaseException) -> bool:
    """Whether the part of the library that is written in Rust ran out of stack.

    It says so by an exception that nothing but its name tells from an interrupt.
    """
    return type(exc).__name__ == "PanicException"


def _errors_of_schema(schema: dict[str, Any]) -> Iterator[jsonschema.ValidationError]:
    """What the draft's own schema, and our patterns, find wrong with a schema."""
    kind = _kind_of(schema)
    about = kind.META_SCHEMA
    return bounded(kind)(about, format_checker=FORMATS).iter_errors(schema)


def _kind_of(schema: dict[str, Any]) -> type[jsonschema.protocols.Validator]:
    """The library's validator for the draft that a schema names, or for the newest."""
    kind: type[jsonschema.protocols.Validator] = jsonschema.Draft202012Validator
    if "$schema" in schema:
        kind = jsonschema.validators.validator_for(schema, default=kind)
    return kind


def _validator(schema: dict[str, Any]) -> jsonschema.protocols.Validator:
    """A validator that fetches nothing: a reference to elsewhere is an error."""
    kind = _kind_of(schema)
    about = kind.META_SCHEMA["$schema"]
    dialect = referencing.jsonschema.specification_with(about)
    resource = dialect.create_resource(schema)
    # Looked through once, here: or else it is, for each reference to a name in it.
    known = REGISTRY.with_resource(resource.id() or "", resource).crawl()
    made: Any = bounded(kind)
    validator: jsonschema.protocols.Validator = made(
        schema, registry=known, _resolver=known.resolver(resource.id() or "")
    )
    return validator


def _references(schema: Any) -> Iterator[str]:
    """Every `$ref` that is told from the top; those below an `$id` are left out."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict) and (part is schema or "$id" not in part):
            reference = part.get("$ref")
            if isinstance(reference, str):
                yield reference
            waiting.extend(part.values())


def _short(text: str) -> str:
    return text if len(text) <= _MAX_COMPLAINT else text[:_MAX_COMPLAINT] + "…"
