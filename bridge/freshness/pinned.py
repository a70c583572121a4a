"""Which answers a lock names that was written here: they are kept.

    answer-locks.json    the locks that were written, each with its project

A lock needs no record of its answers, but its readers may want it. A lock that is gone
pins nothing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.freshness.kept_reads import FOLDER, file_of_question
from bridge.freshness.lock_file import MAX_BYTES
from bridge.protocol import plain_json
from bridge.protocol.record import json_object, refuse_newer
from bridge.store.directory import NotAPlainFile
from bridge.store.plain_file import open_plain
from bridge.store.submit import known_request

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.store.state import State

FILE = "answer-locks.json"
_ANSWER = re.compile(rb'^(?:answer |\{"answer": ")([0-9a-f]{64})', re.MULTILINE)


def note(state: State, file: Path, project: Path) -> None:
    """Note that a lock was written."""
    with state.hold():
        locks = _noted(state) | {str(file.absolute()): str(project)}
        data = plain_json.dumps({"schemaVersion": 1, "locks": locks}, indented=True)
        state.directory.replace(FILE, data + b"\n", durable=False)


def _noted(state: State) -> dict[str, str]:
    with suppress(NotAPlainFile):
        noted = json_object(state.directory.read(FILE))
        version, found = noted.get("schemaVersion"), noted.get("locks")
        file = f"{state.directory.path}/{FILE}"
        refuse_newer(version if isinstance(version, int) else 1, 1, file=file)
        if isinstance(found, dict):
            return {str(file): str(project) for file, project in found.items()}
    return {}


def pinned(state: State) -> set[str]:
    """The requests whose answers are named by a lock that is still there."""
    found = set()
    for file, project in _noted(state).items():
        # It is anybody's file by now: a pipe would never be read to its end.
        with suppress(OSError, ValueError), open_plain(file) as lock:
            for question in _ANSWER.findall(lock.read(MAX_BYTES)):
                name = file_of_question(question.decode(), project)
                found.add(known_request(state, name, folder=FOLDER))
    return {request for request in found if request is not None}
