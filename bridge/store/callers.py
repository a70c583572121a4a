"""Who made a call of our MCP server's tools: `sessions/<id>.callers.json`.

The server is told the id of a call, and nothing else that holds: its process outlives
`/clear` with the old session's id, and one server serves a session with all its agents.
A hook sees each call first and writes down whose it is; without that the server cannot
tell.

Source: measured on Claude Code 2.1.330, `_meta` of tools/call.
"""

from typing import NamedTuple

from bridge.protocol.claim import SessionId
from bridge.protocol.plain_types import field
from bridge.protocol.record import Record
from bridge.protocol.value import Value
from bridge.store.book import Book
from bridge.store.store import Store

# The oldest go first. A call may wait for a person's yes before the server hears of it.
_MAX_KEPT = 200
_MAX_ID = 1000


class Agent(Value):
    """The agent that makes a call, and the client's name for its kind.

    Without an id it is the main thread.
    """

    agent_id: str = ""
    agent_type: str = ""


class SessionAgent(NamedTuple):
    """A session, and who in it."""

    session_id: str
    agent: Agent


class Callers(Record):
    """The latest calls of one session, by the call's id."""

    session_id: SessionId
    calls: dict[str, Agent] = field(default_factory=dict)


_BOOK = Book.of("sessions", Callers, ".callers.json")


def caller_of(store: Store, tool_use_id: str) -> SessionAgent | None:
    """Who made a call, by its `claudecode/toolUseId`; None if no hook saw it."""
    if not store.exists():
        return None
    for known in _BOOK.all(store):
        if tool_use_id in known.calls:
            return SessionAgent(known.session_id, known.calls[tool_use_id])
    return None


def note_caller(store: Store, caller: SessionAgent, tool_use_id: str) -> None:
    """Write down who makes a call."""
    if not 0 < len(tool_use_id) <= _MAX_ID:
        return

    def noted(known: Callers | None) -> Callers:
        calls = {**(known.calls if known else {}), tool_use_id: caller.agent}
        kept = dict(list(calls.items())[-_MAX_KEPT:])
        return Callers(session_id=caller.session_id, calls=kept)

    _BOOK.change(store, caller.session_id, noted)
