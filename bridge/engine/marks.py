"""What a run has asked: `runs/<run>/asked/<id>.json`, a mark for each of its requests.

Anybody can tell what the next request of a run will be called, and any program of the
user may write a file of that name. So the run marks a request before it submits it:
with the digest of what it asks, sealed as run.json is. What has such a name and no mark
is somebody else's, and is put aside before the run asks. The answer to another question
than the marked one does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import orjson

from bridge.errors import InvalidRequest
from bridge.protocol.record import refuse_newer, refuse_unknown
from bridge.protocol.response import Failure
from bridge.protocol.status import Stage, Status
from bridge.store.directory import NotAPlainFile
from bridge.store.live_runs import RUNS
from bridge.store.records import has_seal, with_seal
from bridge.store.state import file_of
from bridge.store.submit import is_submitted, submit

if TYPE_CHECKING:
    from bridge.engine.run import Run
    from bridge.protocol.request import Request
    from bridge.protocol.response import Response
    from bridge.store.state import State

FOLDER = "asked"
_VERSION = 1
_KIND = "asked"
_PLANTED = "the run had not asked this: somebody else chose its id"
_CHANGED = (
    "the question was changed after the run asked it; its answer does not count (read "
    "it: hostbridge show {asked})"
)


class RequestMark(TypedDict):
    """The file of a mark: the id of a request, and the digest of what it asks."""

    schemaVersion: int
    asked: str
    digest: str


def is_asked(state: State, run: str, asked: str) -> bool:
    """Whether the run has asked this, and its request or an answer of ours is there."""
    if not is_submitted(state, asked) or _mark(state, run, asked) is None:
        return False
    file = file_of(asked)
    is_there = any(state[each].has(file) for each in ("requests", "processing", "done"))
    return is_there or state.is_answered(asked)


def ask(state: State, run: Run, request: Request) -> str:
    """Mark a request of a run, and submit it; the id of the one that answers it.

    Raises:
        InvalidRequest: an agent works on what somebody else put there; or as `submit`.
    """
    asked = request.request_id
    _make_room(state, asked)
    mark: RequestMark = {
        "schemaVersion": _VERSION,
        "asked": asked,
        "digest": request.digest,
    }
    data = with_seal(orjson.dumps(mark), state.key(), _KIND)
    with state[RUNS].folder(run["run"], make=False) as above:
        with above.folder(FOLDER) as folder:
            folder.clear(file_of(asked))
            folder.replace(file_of(asked), data)
    return str(submit(state, request, fan_out=run["fanOut"]).request_id)


def _make_room(state: State, asked: str) -> None:
    """Put aside what somebody else put under the id of a request to come."""
    if not is_submitted(state, asked):
        return
    file = file_of(asked)
    with state.hold():
        if state["processing"].has(file):
            raise InvalidRequest(
                f"{state['processing'].path}/{file}: {_PLANTED}, and an agent is at "
                "work on it; its answer does not count. Have the run go on once it has "
                "ended"
            )
        for folder in ("requests", "done", "responses"):
            if state[folder].has(file):
                state.put_aside(folder, file, _PLANTED)


def answer_to(state: State, run: str, response: Response) -> Response | None:
    """What a response means for the run; None if the run has not asked for it."""
    mark = _mark(state, run, response.request_id)
    if mark is None or mark["digest"] == response.request_digest:
        return mark and response
    why = _CHANGED.format(asked=response.request_id)
    return response.with_(
        success=False,
        status=Status.FAILED,
        raw_output="",
        parsed_output=None,
        error=Failure(code="bad_request", message=why, stage=Stage.WAITING),
    )


def _mark(state: State, run: str, asked: str) -> RequestMark | None:
    """The mark of a request, if the run has made one."""
    with (
        state[RUNS].folder(run, make=False) as above,
        above.folder(FOLDER, make=False) as folder,
    ):
        try:
            data = folder.read(file_of(asked))
        except NotAPlainFile:
            return None
    if data is None or not has_seal(data, state.key(), _KIND):
        return None
    mark: RequestMark = orjson.loads(data)
    file = f"{folder.path}/{asked}.json"
    refuse_newer(mark["schemaVersion"], _VERSION, file=file)
    refuse_unknown(mark, (*RequestMark.__annotations__, "seal"), file=file)
    return mark if mark["asked"] == asked else None
