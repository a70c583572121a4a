"""Check a value against a JSON Schema that any program wrote, and the schema itself.

Both always end, whatever the schema: see `compiled_schema`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson
from jsonschema_rs import ValidationError

from bridge.protocol.compiled_schema import (
    CompiledSchema,
    TooManySteps,
    message_of,
    place_of,
)
from bridge.protocol.keywords import unknown_type
from bridge.protocol.wording import shortened

_TOO_MANY_STEPS = (
    "the answer could not be checked against its schema: that takes too many steps; "
    "a shorter answer, or a simpler schema, takes fewer"
)
_MAX_COMPLAINT = 600
_ELSEWHERE = re.compile(r"Resource ('.*') is not present in a registry.*")


def problem_of(schema: dict[str, Any], value: Any) -> str | None:
    """What is wrong with `value` under `schema`, place first; None for nothing.

    Source: JSON Schema, draft 2020-12 unless `$schema` says otherwise.
    """
    return problems_of(schema, [value])[0]


def problems_of(schema: dict[str, Any], values: Sequence[Any]) -> list[str | None]:
    """What is wrong with each of `values`, as in `problem_of`.

    Together they may take as many steps as one.
    """
    try:
        compiled = CompiledSchema(schema, values)
    except TooManySteps:
        return [_TOO_MANY_STEPS] * len(values)
    except Exception as exc:  # noqa: BLE001 - any program may have written the schema
        return [f"the schema cannot be used: {_message(exc)}"] * len(values)
    return [_problem_of(compiled, value) for value in values]


def _problem_of(compiled: CompiledSchema, value: Any) -> str | None:
    try:
        if compiled.is_valid("", value):
            return None
        return shortened(compiled.fault_in(value), _MAX_COMPLAINT)
    except TooManySteps:
        return _TOO_MANY_STEPS
    except RecursionError:
        return "the answer is nested too deeply for its schema"
    except Exception as exc:  # noqa: BLE001 - as above
        return f"the answer cannot be checked: {_message(exc)}"


def problem_of_schema(schema: dict[str, Any]) -> str | None:
    """What is wrong with a caller's schema itself, place first; None for nothing.

    A process that asks and serves meets its schema several times, and checks it once.
    """
    try:
        try:
            data = orjson.dumps(schema)
        except TypeError:
            # It is not JSON, or nested too deeply for the encoder.
            return _problem_of_schema(schema)
        return _problem_of_json(data)
    except RecursionError:
        # Not remembered: another caller may have more of the stack left.
        return "cannot be used: it is nested too deeply"


@lru_cache(maxsize=4)
def _problem_of_json(schema: bytes) -> str | None:
    return _problem_of_schema(orjson.loads(schema))


def _problem_of_schema(schema: dict[str, Any]) -> str | None:
    try:
        CompiledSchema(schema)
    except TooManySteps:
        return "cannot be used: it is too large to be checked"
    except RecursionError:
        raise
    except Exception as exc:  # noqa: BLE001 - as above
        if not isinstance(exc, ValidationError) or not exc.instance_path:
            return f"cannot be used: {_message(exc)}"
        path, unknown = exc.instance_path, None
        if "type" in path[-2:]:
            unknown = unknown_type(exc.instance)
        return f"{place_of(path)}: {unknown or _message(exc)}"
    return None


def _message(exc: Exception) -> str:
    text = str(exc)
    if isinstance(exc, ValidationError):
        text = message_of(exc, exc.instance)
    text = text.replace('not a "regex"', "no regular expression, or far too large")
    text = _ELSEWHERE.sub(r"nothing is fetched from \1", text)
    return shortened(text, _MAX_COMPLAINT)
