"""The lines of the journal that metrics are made of, as values. Pure.

A field that a line does not have, or has with a wrong type, gets its default: something
newer or something else may have written it. The rest of the line counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import (
    Any,
    Generic,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import orjson

from bridge.metrics.counts import LARGEST
from bridge.protocol.plain_types import camel_case
from bridge.protocol.wording import one_line

OTHERS = "(others)"
# Of one kind: what is beyond is counted together, so that no log makes a page of it.
MOST = 200
_CHARS = 128


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
    usage: dict[str, Any] | None = None


class Later(NamedTuple):
    """What an agent took in the end, noted after its answer."""

    request_id: str
    model: str = ""
    usage: dict[str, Any] | None = None


class RunEnd(NamedTuple):
    """The end of a run of a flow. Times in milliseconds."""

    request_id: str
    flow: str = ""
    duration_ms: int | None = None
    agents: int = 0
    tokens: int = 0


_L = TypeVar("_L", bound=NamedTuple)


def _in_json(hint: Any) -> Any:
    """The type that a field has in JSON: `str` for `str | None`."""
    plain = next(iter(get_args(hint)), hint) if get_origin(hint) is not dict else hint
    return get_origin(plain) or plain


class Reader(Generic[_L]):
    """Reads lines of one kind."""

    def __init__(self, kind: type[_L]) -> None:
        hints, defaults = get_type_hints(kind), kind._field_defaults
        self._make: Callable[[Iterable[Any]], _L] = kind._make
        self._fields = [
            (camel_case(name), _in_json(hints[name]), defaults.get(name))
            for name in kind._fields
        ]

    def read(self, line: bytes) -> _L | None:
        """What a line says; None if it is broken, or does not say about whom."""
        try:
            data = orjson.loads(line)
        except orjson.JSONDecodeError:
            return None
        if type(data) is not dict or type(data.get("requestId")) is not str:
            return None
        get: Callable[[str], Any] = data.get
        values = [
            value
            if type(value := get(name)) is kind
            and (kind is not int or 0 <= value <= LARGEST)
            else default
            for name, kind, default in self._fields
        ]
        return self._make(values)


class Names(dict[str, str]):
    """Names of one kind from outside, bounded in length and number.

    By what a line says: agents, models, flows, codes.
    """

    def __missing__(self, said: str) -> str:
        if len(self) >= MOST:
            return OTHERS
        self[said] = name = one_line(said, _CHARS)
        return name
