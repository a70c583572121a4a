"""Check a value against a JSON Schema that any program wrote, and the schema itself."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema
import referencing

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_ERRORS = 100
_MAX_COMPLAINT = 600


def problem_of(schema: dict[str, Any], value: Any) -> str | None:
    """What is wrong with `value` under `schema`, place first; None for nothing.

    Source: JSON Schema, draft 2020-12 unless `$schema` says otherwise.
    """
    try:
        errors = islice(_validator(schema).iter_errors(value), _MAX_ERRORS)
        error = jsonschema.exceptions.best_match(errors)
    except RecursionError:
        return "the answer is nested too deeply for its schema"
    except Exception as exc:  # noqa: BLE001 - a schema that any program wrote, unchecked
        return f"the schema cannot be used: {_short(str(exc))}"
    if error is None:
        return None
    return f"{error.json_path}: {_short(error.message)}"


def problem_of_schema(schema: dict[str, Any]) -> str | None:
    """What is wrong with a caller's schema itself, place first; None for nothing."""
    try:
        validator = _validator(schema)
        validator.check_schema(schema)
        for reference in _references(schema):
            validator._resolver.lookup(reference)  # type: ignore[attr-defined]  # noqa: SLF001
    except jsonschema.SchemaError as exc:
        return f"{exc.json_path}: {_short(exc.message)}"
    except Exception as exc:  # noqa: BLE001 - whatever a caller can think of
        return f"cannot be used: {_short(str(exc))}"
    return None


def _validator(schema: dict[str, Any]) -> jsonschema.protocols.Validator:
    """A validator that fetches nothing: a reference to elsewhere is an error."""
    kind: type[jsonschema.protocols.Validator] = jsonschema.Draft202012Validator
    if "$schema" in schema:
        kind = jsonschema.validators.validator_for(schema, default=kind)
    return kind(schema, registry=referencing.Registry())


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
