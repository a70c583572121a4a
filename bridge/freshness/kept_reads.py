"""Keep the read set of the newest answer to each question, and find it again.

    reads/<name>.json    sealed, so that only what we wrote counts

The name is the digest of the question and the project: linked worktrees of a repository
share one state, and have other files.

A set without its answer is ignored, as is one whose response is another. The hook of a
session writes it after the response, every other process before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bridge.freshness import never_reused
from bridge.freshness.never_reused import Given
from bridge.freshness.question import digest_of
from bridge.freshness.reads import KEYS, VERSION, Reads, reads_of
from bridge.protocol import plain_json
from bridge.protocol.digest import sha256_of
from bridge.protocol.ids import RequestId
from bridge.protocol.record import printable, refuse_newer, refuse_unknown
from bridge.protocol.request import Request
from bridge.protocol.response import Response, Route
from bridge.store.directory import NotAPlainFile
from bridge.store.queries import look
from bridge.store.records import has_seal, with_seal
from bridge.store.state import State

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.freshness.looks import Look

FOLDER = "reads"
# How long a hook may read at the end of its agent.
READ_S = 5.0
_KIND = "reads"
_MAX_BYTES = 64 * 1024 * 1024


def keep(
    state: State,
    request: Request,
    response: Response,
    looks: Iterable[Look],
    *,
    project: Path,
    model: str = "",
    read_s: float = READ_S,
) -> None:
    """Write down what an answer rests on.

    Of an answer that is no success nothing is kept. `project` is where its agent
    worked, `model` is the key of the model.
    """
    if not response.success:
        return
    # Not needed to look for an answer.
    from bridge.freshness.completing import complete
    from bridge.freshness.disk import Disk

    found = complete(looks, Disk(time.monotonic() + read_s))
    reads = Reads(
        request_id=request.request_id,
        question=digest_of(request, response.route),
        project=str(project),
        answer=never_reused.words_digest(response),
        at_ms=state.now_ms(),
        doubt=found.doubt,
        detail=printable(found.detail),
        model=model,
        files=found.files,
        trees=found.trees,
    )
    data = with_seal(plain_json.dumps(reads.to_data()), state.key(), _KIND)
    name = _name(reads.question, reads.project)
    # One without its seal is ignored.
    state[FOLDER].replace_unsynced(f"{name}.json", data)


def find(state: State, request: Request, route: Route, project: Path) -> Given | None:
    """The newest answer to what a request asks on a route, if there is one."""
    reads = load(state, request, route, project)
    return None if reads is None else given_by(state, reads)


def all_kept(state: State, project: Path) -> Iterator[Reads]:
    """The read set of the newest answer to each question, in no order."""
    for name in state[FOLDER].names():
        reads = _load(state, name)
        if reads is not None and reads.project == str(project):
            yield reads


def given_by(state: State, reads: Reads) -> Given | None:
    """The answer that a read set is about, as far as it is on record."""
    found = look(state, RequestId(reads.request_id))
    if found is None or found.request is None or found.response is None:
        return None
    return Given(found.request, found.response, reads)


def load(state: State, request: Request, route: Route, project: Path) -> Reads | None:
    """The read set of a question; None without one that we wrote.

    Raises:
        NewerSchema: a newer hostbridge wrote it.
    """
    return _load(state, _name(digest_of(request, route), str(project)))


def _name(question: str, project: str) -> str:
    return sha256_of(f"{question} {project}".encode())


def file_of_question(question: str, project: str) -> str:
    """The file of the newest answer to a question in a project."""
    return f"{_name(question, project)}.json"


def _load(state: State, name: str) -> Reads | None:
    try:
        data = state[FOLDER].read(f"{name}.json", _MAX_BYTES)
    except NotAPlainFile:
        return None
    if data is None or not has_seal(data, state.key(), _KIND):
        return None
    value = plain_json.loads(data)
    file = f"{state[FOLDER].path}/{name}.json"
    refuse_newer(value["schemaVersion"], VERSION, file=file)
    refuse_unknown(value, (*KEYS, "seal"), file=file)
    reads = reads_of(value)
    # A copy under another name would answer another question.
    return reads if _name(reads.question, reads.project) == name else None
