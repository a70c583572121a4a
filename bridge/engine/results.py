"""What tools, programs and worktrees gave: `runs/<run>/results/<asked>.json`.

Each is written whole, sealed as run.json is, and never changes. One that is not there,
or is not as it was written, is as good as none: what a tool gave is asked for again by
its key, and a program that was to be run is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

import orjson

from bridge.errors import InvalidRequest
from bridge.protocol.record import refuse_newer, refuse_unknown
from bridge.store.directory import NotAPlainFile
from bridge.store.live_runs import RUNS
from bridge.store.records import has_seal, with_seal

if TYPE_CHECKING:
    from bridge.store.directory import Folder
    from bridge.store.state import State

FOLDER = "results"
MAX_BYTES = 16 * 1024 * 1024
_VERSION = 1
_KIND = "result"


class StepResult(TypedDict):
    """How something ended, as a `Fact`, and what it gave."""

    how: Literal["ok", "failed", "error"]
    why: str
    output: Any


class ResultRecord(StepResult):
    """The file of a result: `asked` is the id of the step's attempt."""

    schemaVersion: int
    asked: str
    seal: str


def has_result(state: State, run: str, asked: str) -> bool:
    """Whether there is a result; a look at its name."""
    try:
        return state[RUNS].has(f"{run}/{FOLDER}/{asked}.json")
    except NotADirectoryError:
        # Whoever reads it is told what lies there.
        return True


def put_result(
    state: State, run: str, asked: str, result: StepResult, *, durable: bool = True
) -> bool:
    """Write a result, unless there is one; False if there is.

    Without `durable` a power cut may leave none.

    Raises:
        InvalidRequest: it is too long, or no JSON.
    """
    data = _written(asked, result, state.key())
    with state[RUNS].folder(run, make=False) as above, above.folder(FOLDER) as folder:
        name = f"{asked}.json"
        if folder.has(name):
            if _read(folder, asked, state.key()) is not None:
                return False
            folder.clear(name)
        if not durable:
            folder.replace_unsynced(name, data)
            return True
        try:
            folder.create(name, data)
        except FileExistsError:
            return False
    return True


def read_result(state: State, run: str, asked: str) -> StepResult | None:
    """A result; None if there is none that we wrote."""
    with (
        state[RUNS].folder(run, make=False) as above,
        above.folder(FOLDER, make=False) as folder,
    ):
        return _read(folder, asked, state.key())


def _written(asked: str, result: StepResult, key: bytes) -> bytes:
    try:
        data = orjson.dumps({"schemaVersion": _VERSION, "asked": asked, **result})
    except TypeError as exc:
        raise InvalidRequest(f"its result has no JSON form: {exc}") from None
    if len(data) > MAX_BYTES:
        raise InvalidRequest(
            f"its result has {len(data):,} bytes; {MAX_BYTES:,} is the limit"
        )
    return with_seal(data, key, _KIND)


def _read(folder: Folder, asked: str, key: bytes) -> StepResult | None:
    try:
        data = folder.read(f"{asked}.json", 2 * MAX_BYTES)
    except NotAPlainFile:
        return None
    if data is None or not has_seal(data, key, _KIND):
        return None
    value = orjson.loads(data)
    file = f"{folder.path}/{asked}.json"
    refuse_newer(value["schemaVersion"], _VERSION, file=file)
    refuse_unknown(value, ResultRecord.__annotations__, file=file)
    if value["asked"] != asked:
        return None
    return {"how": value["how"], "why": value["why"], "output": value["output"]}
