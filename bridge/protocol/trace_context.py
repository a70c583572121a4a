"""Trace context: which trace a request belongs to, and what its agents get of it. Pure.

A program that traces itself has `TRACEPARENT` in its environment. A request keeps it,
and the programs that it starts get one of the same trace, whose parent is the request.

Source: W3C Trace Context, "traceparent Header"; OpenTelemetry, "Environment Variables
as Context Propagation Carriers".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bridge.protocol.digest import sha256_of

VARIABLE = "TRACEPARENT"
# A later version may say more behind these four; the first version may not.
_TRACEPARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})"
    r"-([0-9a-f]{2})(-[!-~]{0,256})?"
)
_FIRST = "00"
_TRACE_DIGITS, _SPAN_DIGITS = 32, 16


class TraceContext(NamedTuple):
    """One span of a trace; ids in lower-case hexadecimal digits."""

    trace_id: str
    span_id: str
    flags: str = "00"

    def __str__(self) -> str:
        """As `TRACEPARENT` says it."""
        return f"{_FIRST}-{self.trace_id}-{self.span_id}-{self.flags}"


def find_context(text: str | None) -> TraceContext | None:
    """What a `TRACEPARENT` says; None if there is none, or it is not valid.

    An invalid one is ignored, as the standard says: no question should fail for it.
    """
    found = _TRACEPARENT.fullmatch(text or "")
    if found is None or (found[1] == _FIRST and found[5]):
        return None
    return TraceContext(found[2], found[3], found[4])


def span_of(name: str) -> str:
    """The id of the span of a request or a run: always the same."""
    return sha256_of(f"span {name}".encode())[:_SPAN_DIGITS]


def trace_of(name: str) -> str:
    """The id of the trace that a request or a run begins if its asker has none."""
    return sha256_of(f"trace {name}".encode())[:_TRACE_DIGITS]


def handed_on(traceparent: str | None, name: str) -> str | None:
    """The `TRACEPARENT` for what a request or a run named `name` starts.

    None if its asker is not traced: then a program that it starts decides for itself
    whether it is.
    """
    asker = find_context(traceparent)
    return str(asker._replace(span_id=span_of(name))) if asker else None


def variables_of(traceparent: str | None, name: str) -> dict[str, str]:
    """The same as variables of the environment; empty, as good as unset, without one.

    The serving process may be traced, too, but its trace is not the asker's.
    """
    return {VARIABLE: handed_on(traceparent, name) or ""}
