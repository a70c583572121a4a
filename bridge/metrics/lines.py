"""The lines of the journal that metrics are made of, as values. Pure.

What a line does not say has its default. A field of a wrong type, as something newer or
something else may have written it, is left out; the rest of the line counts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Generic, TypeVar

import msgspec

# What is more is no count of anything here; and all sums stay within JSON.
Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]


class Line(msgspec.Struct, rename="camel", gc=False):
    """What each of these lines says: whom it is about."""

    request_id: str


class Usage(msgspec.Struct, rename="camel", gc=False):
    """As `bridge.protocol.usage.Usage`."""

    input_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    output_tokens: Count = 0
    requests: Count = 0

    @property
    def tokens(self) -> int:
        """What counts against budgets: everything but what a cache had."""
        return self.input_tokens + self.cache_write_tokens + self.output_tokens


class End(Line, rename="camel", gc=False):
    """The end of a request; see `bridge.protocol.end_facts`."""

    event: str = ""
    agent: str = ""
    route: str = ""
    model: str = ""
    code: str | None = None
    duration_ms: Count | None = None
    wait_ms: Count | None = None
    verified: bool | None = None
    degraded: bool = False
    retries: Count = 0
    corrections: Count = 0
    usage: Usage | None = None


class Later(Line, rename="camel", gc=False):
    """What an agent took in the end, told after the answer."""

    model: str = ""
    usage: Usage | None = None


class RunEnd(Line, rename="camel", gc=False):
    """The end of a run of a flow."""

    flow: str = ""
    duration_ms: Count | None = None
    agents: Count = 0
    tokens: Count = 0


_L = TypeVar("_L", bound=Line)
# What is no JSON, no UTF-8, or not what was expected; what is nested too deeply.
_BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Reader(Generic[_L]):
    """Reads lines of one kind."""

    def __init__(self, kind: type[_L]) -> None:
        self._kind = kind
        self._decode: Callable[[bytes], _L] = msgspec.json.Decoder(kind).decode

    def read(self, line: bytes) -> _L | None:
        """What a line says; None if it is broken, or does not say about whom."""
        for read in (self._decode, self._usable):
            try:
                return read(line)
            except _BROKEN:
                continue
        return None

    def _usable(self, line: bytes) -> _L:
        """What a line says in fields of the right types."""
        found = {}
        for name, value in msgspec.json.decode(line).items():
            with suppress(msgspec.ValidationError):
                msgspec.convert({"requestId": "", name: value}, self._kind)
                found[name] = value
        return msgspec.convert(found, self._kind)
