"""Past answers of agents and closed tasks, searched by their words.

    memories.db    an index, by SQLite's full-text search; may be removed at any time

Nobody keeps it up to date but who searches: what has ended since is added first, what
was pruned or opened again is taken out, so much at a time. A question is words, and no
language: nothing in it means anything but itself.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import NewerSchema
from bridge.protocol.plain_json import dumps
from bridge.protocol.wording import shortened, squeezed
from bridge.tasks.database import Database
from bridge.tasks.records import select
from bridge.tasks.task import Status, Task

if TYPE_CHECKING:
    from bridge.protocol.request import Request
    from bridge.protocol.response import Response
    from bridge.store.state import State
    from bridge.store.store import Store

_TABLES = """
CREATE TABLE sources (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    stamp INTEGER NOT NULL,
    at_ms INTEGER,
    UNIQUE (kind, id)
);
CREATE VIRTUAL TABLE texts USING fts5
    (title, body, tokenize = 'porter unicode61 remove_diacritics 2');
"""
# So many texts are added by one search; what is left the next one adds.
MAX_ADDED = 2_000
_MAX_CHARS = 20_000
_MAX_WORDS = 32
_TITLE_CHARS = 200
_EXCERPT_CHARS = 600
_WORD = re.compile(r"\w+")
_FIND = """
SELECT s.kind, s.id, t.title, snippet(texts, 1, '', '', '…', 60), s.at_ms
FROM texts t JOIN sources s ON s.number = t.rowid
WHERE texts MATCH ? ORDER BY bm25(texts, 2.0, 1.0), s.number DESC LIMIT ?
"""


class Memory(NamedTuple):
    """Something that was found: an `answer`, by its request, or a `task`."""

    kind: str
    id: str
    title: str
    excerpt: str
    at: int | None


class Found(NamedTuple):
    """The best first; `left` texts are not in the index yet."""

    memories: list[Memory]
    left: int


class _Index(Database):
    file = "memories.db"
    steps = (_TABLES,)
    # "hbmm".
    application_id = 0x68626D6D
    cures = ("remove it: it is made again",)


class _Source(NamedTuple):
    """What can be found; a `stamp` changes with it."""

    kind: str
    id: str
    stamp: int


class _Text(NamedTuple):
    title: str
    body: str
    at_ms: int | None


def search(store: Store, question: str, *, limit: int) -> Found:
    """What is about the words of a question: the more of them, and the rarer.

    Raises:
        TasksBusy, TasksDamaged, StateUnavailable: the index, or the tasks, cannot be
            used now.
    """
    index = _Index(store)
    words = _WORD.findall(question)[:_MAX_WORDS]
    left = _bring_up_to_date(store, index) if store.exists() else 0
    if not words or not index.exists():
        return Found([], left)
    # Quoted, a word is no operator; the star has it begin others.
    wanted = " OR ".join(f'"{word}"*' for word in words)
    with index.read() as connection:
        rows = connection.execute(_FIND, [wanted, limit]).fetchall()
    return Found([_memory(*row) for row in rows], left)


def _memory(kind: str, id_: str, title: str, text: str, at_ms: int | None) -> Memory:
    excerpt = shortened(squeezed(text), _EXCERPT_CHARS)
    return Memory(kind, id_, title, excerpt, at_ms)


def _bring_up_to_date(store: Store, index: Database) -> int:
    """Add what has ended, take out what is gone; how many are left to be added."""
    there = _there(store)
    with index.read() as connection:
        known = _known(connection)
    new, gone = there - known, known - there
    if not new and not gone:
        return 0
    with index.write() as connection:
        # Another search may have been quicker.
        known = _known(connection)
        new, gone = there - known, known - there
        for source in gone:
            _take_out(connection, source)
        chosen = sorted(new, key=lambda each: (each.stamp, each.id), reverse=True)
        for source, text in _read(store, chosen[:MAX_ADDED]):
            _add(connection, source, text)
    return max(0, len(new) - MAX_ADDED)


def _there(store: Store) -> set[_Source]:
    """All that there is to find."""
    with store.state() as state:
        found = {_Source("answer", each, 0) for each in state.ids("responses")}
    with Database(store).read() as tasks:
        rows = tasks.execute(
            "SELECT uuid, updated_ms FROM tasks WHERE status = ?", [Status.CLOSED]
        )
        return found | {_Source("task", *row) for row in rows}


def _known(connection: sqlite3.Connection) -> set[_Source]:
    rows = connection.execute("SELECT kind, id, stamp FROM sources")
    return {_Source(*row) for row in rows}


def _take_out(connection: sqlite3.Connection, source: _Source) -> None:
    row = connection.execute(
        "DELETE FROM sources WHERE kind = ? AND id = ? RETURNING number",
        [source.kind, source.id],
    ).fetchone()
    connection.execute("DELETE FROM texts WHERE rowid = ?", row)


def _add(connection: sqlite3.Connection, source: _Source, text: _Text) -> None:
    """Add a source; one without words is only known."""
    title, body, at_ms = text
    made = connection.execute(
        "INSERT INTO sources (kind, id, stamp, at_ms) VALUES (?, ?, ?, ?)",
        [*source, at_ms],
    )
    if title or body:
        connection.execute(
            "INSERT INTO texts (rowid, title, body) VALUES (?, ?, ?)",
            [made.lastrowid, title[:_TITLE_CHARS], body[:_MAX_CHARS]],
        )


def _read(store: Store, sources: list[_Source]) -> Iterator[tuple[_Source, _Text]]:
    with store.state() as state, Database(store).read() as tasks:
        for source in sources:
            if source.kind == "answer":
                yield source, _of_answer(state, source.id)
                continue
            for task in select(tasks, "WHERE t.uuid = ?", [source.id]):
                yield source, _of_task(task)


def _of_task(task: Task) -> _Text:
    body = [task.description, task.validation_criteria, task.reason]
    return _Text(
        f"{task.ref} {task.title}", "\n".join(filter(None, body)), task.closed_ms
    )


def _of_answer(state: State, request_id: str) -> _Text:
    """An answer in its words; nothing for one that failed, or cannot be read."""
    request: Request | None = None
    response: Response | None = None
    with suppress(NewerSchema, OSError):
        response = state.response(request_id)
        request = state.ended(request_id)
    if response is None or not response.success:
        return _Text("", "", None)
    asked = request.prompt if request else ""
    title = f"{request.agent_type}: {squeezed(asked)}" if request else ""
    said = response.parsed_output
    body = "\n".join(_words(response.raw_output if said is None else said))
    return _Text(title, f"{body}\n{asked}", response.completed_at)


def _words(value: Any) -> Iterator[str]:
    """The texts in an answer, with the names of their fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            said = " ".join(_words(each))
            if said:
                yield f"{name}: {said}"
    elif isinstance(value, list):
        for each in value:
            yield from _words(each)
    elif value is not None:
        yield dumps(value).decode()
