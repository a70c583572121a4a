"""The overview of a project as plain text: tables without colour.

Each line begins with a whole id, which a narrow terminal does not cut: people copy it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.cli.output import span
from bridge.host.output import one_line
from bridge.protocol.ids import is_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.api.project_status import (
        EndedRequest,
        LiveRequest,
        OpenSession,
        Overview,
    )

_REQUESTER_CHARS = 30


def overview_text(seen: Overview) -> str:
    """Sessions, requests, and what ended last."""
    return "\n".join(_lines(seen))


def _lines(seen: Overview) -> Iterator[str]:
    off = "  OFF (`hostbridge on` goes on)" if seen.is_off else ""
    off_here = "  OFF in this shell (BRIDGE_OFF is set)" if seen.is_off_here else ""
    yield f"{seen.project}{off}{off_here}"
    yield ""
    if seen.sessions:
        head = ("SESSION", "PID", "SEEN", "WAKES", "AGENTS", "")
        yield from table(head, map(_session, seen.sessions))
    else:
        yield "no session is open (`claude` opens one, `hostbridge install` before it)"
    yield ""
    if seen.requests or seen.unreadable:
        head = ("REQUEST", "STAGE", "AGE", "LEFT", "AGENT", "ASKED BY")
        yield from table(head, map(_request, seen.requests))
    else:
        yield "nothing waits or runs"
    for name in seen.unreadable:
        yield f"{name}  {_unreadable(name)}"
    more = seen.claimed + seen.waiting - len(seen.requests) - len(seen.unreadable)
    if more > 0:
        yield f"and {more:,} more wait; {seen.waiting:,} in all"
    yield ""
    if seen.last:
        head = ("REQUEST", "ENDED", "AGO", "TOOK", "AGENT", "")
        yield from table(head, map(_ended, seen.last))
    if seen.exists:
        yield f"{seen.ended:,} ended in all"
    else:
        yield f"nothing was ever asked here: there is no {seen.state}"


def _unreadable(name: str) -> str:
    """How to learn why; no command is shown for a name that the shell could run."""
    if is_id(name):
        return f"cannot be read: hostbridge show {name}"
    return "is no id of a request; the file is in requests/"


def _session(session: OpenSession) -> Sequence[str]:
    return (
        session.session_id,
        str(session.pid),
        session.seen,
        "yes" if session.wakes else "no",
        f"{session.running}/{session.slots}",
        "off" if session.is_off else "",
    )


def _request(request: LiveRequest) -> Sequence[str]:
    left = span(request.left_s) if request.left_s > 0 else "overdue"
    usual = ("normal", "host")
    notes = [n for n in (request.priority, request.route) if n not in usual]
    if request.is_abandoned:
        notes.append("its process is gone")
    return (
        request.request_id,
        f"{request.stage} ({', '.join(notes)})" if notes else str(request.stage),
        span(request.age_s),
        left,
        request.agent,
        one_line(request.requester, _REQUESTER_CHARS),
    )


def _ended(request: EndedRequest) -> Sequence[str]:
    return (
        request.request_id,
        request.status,
        span(request.ago_s),
        f"{request.duration_s:.1f} s",
        request.agent,
        request.code or "",
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The rows with their columns aligned."""
    cells = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def fitted(text: str, width: int) -> str:
    """The lines cut to a width, but never inside the id at the start of a line."""
    return "\n".join(_cut(line, width) for line in text.split("\n"))


def _cut(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    return line[: max(width - 1, len(line.split(" ", 1)[0]))] + "…"
