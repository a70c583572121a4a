"""What a run is given: typed JSON, of a flow texts. Pure."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.errors import InvalidRequest
from bridge.flow.parameters import fits
from bridge.flow.problems import near
from bridge.protocol.names import declared_as
from bridge.protocol.record import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.flow.plan import Input, Plan

_BOOLEANS = {"true": True, "false": False}


def params_of(plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a run has as its parameters.

    Raises:
        InvalidRequest: an input is missing, unknown, or of another type.
    """
    what = f"pipeline {plan['name']}" if plan["name"] else "the pipeline"
    known = plan["inputs"]
    given = {declared_as(name, known): value for name, value in given.items()}
    for name in given:
        if name not in known:
            takes = f"; it takes {', '.join(known) or 'none'}"
            raise InvalidRequest(
                f"{what} has no input {name!r}{near(name, known) or takes}"
            )
    found = {}
    for name, described in known.items():
        value = given.get(name)
        if value is None:
            value = described.get("default")
        if value is None and described.get("required"):
            raise InvalidRequest(f"{what} needs the input {name!r}: --param {name}=...")
        found[name] = None if value is None else _typed(what, name, described, value)
    return found


def _typed(what: str, name: str, described: Input, value: Any) -> Any:
    type_ = described.get("type", "any")
    if isinstance(value, str) and type_ not in ("string", "task", "any"):
        value = _read(type_, value)
    if not fits(value, type_):
        raise InvalidRequest(
            f"{what}: the input {name!r} must be of type {type_}, got {value!r:.80}"
        )
    return _printable(value)


def _read(type_: str, text: str) -> Any:
    """A text as the number or truth that it says, or as it is."""
    with suppress(ValueError):
        match type_:
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "boolean":
                return _BOOLEANS.get(text.lower(), text)
    return text


def _printable(value: Any) -> Any:
    match value:
        case str():
            return printable(value)
        case dict():
            return {str(key): _printable(each) for key, each in value.items()}
        case list() | tuple():
            return [_printable(each) for each in value]
    return value
