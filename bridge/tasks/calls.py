"""Calls under a key: done once, whoever repeats them.

The result is written in the transaction of the change. A call that is repeated after a
kill, or made twice at once, returns the first result.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from bridge.errors import InvalidRequest
from bridge.protocol.digest import sha256_of
from bridge.protocol.plain_json import dumps, loads
from bridge.protocol.wording import quoted
from bridge.store.live_runs import RUNS

if TYPE_CHECKING:
    from bridge.tasks.database import Database

_LONGEST = 400
DAY_MS = 86_400_000


class KeyUsed(InvalidRequest):
    """The key stands for another call; nothing was done."""

    code = "key_used"


def digest_of(arguments: dict[str, Any]) -> str:
    """What stands for the arguments of a call."""
    return sha256_of(dumps(arguments, sort_keys=True))


def _is_utf8(text: str) -> bool:
    return text.isascii() or text == text.encode(errors="replace").decode()


def remembered(
    connection: sqlite3.Connection, key: str, tool: str, digest: str
) -> tuple[Any] | None:
    """The result that a call under this key had; None if there was none.

    Raises:
        KeyUsed: it was another call.
    """
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST or not _is_utf8(key):
        raise InvalidRequest(
            f"key {quoted(key)}: expected text of 1 to {_LONGEST} characters"
        )
    row = connection.execute(
        "SELECT tool, digest, result FROM calls WHERE key = ?", [key]
    ).fetchone()
    if row is None:
        return None
    if (row[0], row[1]) != (tool, digest):
        what = "with other arguments" if row[0] == tool else f"of {row[0]}"
        raise KeyUsed(f"the key {quoted(key)} stands for a call {what}; use another")
    return (loads(row[2]),)


def remember(
    connection: sqlite3.Connection,
    key: str,
    tool: str,
    digest: str,
    result: Any,
    now_ms: int,
) -> None:
    """Keep the result of a call."""
    connection.execute(
        "INSERT INTO calls VALUES (?, ?, ?, ?, ?)",
        [key, tool, digest, dumps(result).decode(), now_ms],
    )


def forget(database: Database, older_than_days: float) -> None:
    """Forget what was called so long ago, unless a run is there that may call again."""
    if not database.exists():
        return
    with database.store.state() as state, database.write() as connection:
        before_ms = state.now_ms() - older_than_days * DAY_MS
        runs = {entry.name for entry in state[RUNS].entries()}
        found = connection.execute(
            "SELECT key FROM calls WHERE at_ms <= ?", [before_ms]
        )
        old = [key for (key,) in found if key.partition("-")[0] not in runs]
        forgotten = ([key] for key in old)
        connection.executemany("DELETE FROM calls WHERE key = ?", forgotten)
