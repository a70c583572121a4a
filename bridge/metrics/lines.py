"""The lines of the journal that metrics are made of, as values. Pure.

A field that a line does not have, or has with a wrong type, gets its default: something
newer or something else may have written it. The rest of the line counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

import orjson

from bridge.protocol.plain_types import camel_case

# Larger numbers are no count of anything here; and all sums stay within JSON.
_LARGEST = 10**12


class Usage(NamedTuple):
    """The tokens of a request; as `bridge.protocol.usage.Usage`."""

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0

    @property
    def tokens(self) -> int:
        """What counts against budgets: everything but what a cache had."""
        return self.input_tokens + self.cache_write_tokens + self.output_tokens


class End(NamedTuple):
    """The end of a request; see `bridge.protocol.end_facts`. Times in milliseconds."""

    request_id: str
    event: str = ""
    agent: str = ""
    route: str = ""
    model: str = ""
    code: str | None = None
    duration_ms: int | None = None
    wait_ms: int | None = None
    verified: bool | None = None
    degraded: bool = False
    retries: int = 0
    corrections: int = 0
    usage: Usage | None = None


class Later(NamedTuple):
    """What an agent took in the end, told after the answer."""

    request_id: str
    model: str = ""
    usage: Usage | None = None


class RunEnd(NamedTuple):
    """The end of a run of a flow. Times in milliseconds."""

    request_id: str
    flow: str = ""
    duration_ms: int | None = None
    agents: int = 0
    tokens: int = 0


_L = TypeVar("_L", bound=NamedTuple)
# The name of a field in JSON, its type there, and its default.
_Field = tuple[str, Any, Any]


def _fields_of(kind: Any) -> list[_Field]:
    hints = get_type_hints(kind)
    return [
        (camel_case(name), _plain(hints[name]), kind._field_defaults.get(name))
        for name in kind._fields
    ]


def _plain(hint: Any) -> Any:
    """The type that a field has in JSON: `str` for `str | None`."""
    return next(iter(getattr(hint, "__args__", ())), hint)


def _values(data: dict[str, Any], fields: list[_Field]) -> list[Any]:
    get: Callable[[str], Any] = data.get
    return [
        value
        if type(value := get(name)) is kind
        and (kind is not int or 0 <= value <= _LARGEST)
        else default
        for name, kind, default in fields
    ]


_USAGE = _fields_of(Usage)


class Reader(Generic[_L]):
    """Reads lines of one kind."""

    def __init__(self, kind: type[_L]) -> None:
        self._kind = kind
        self._fields = _fields_of(kind)

    def read(self, line: bytes) -> _L | None:
        """What a line says; None if it is broken, or does not say about whom."""
        try:
            data = orjson.loads(line)
        except orjson.JSONDecodeError:
            return None
        if type(data) is not dict or type(data.get("requestId")) is not str:
            return None
        if type(usage := data.get("usage")) is dict:
            data["usage"] = Usage(*_values(usage, _USAGE))
        return self._kind(*_values(data, self._fields))
