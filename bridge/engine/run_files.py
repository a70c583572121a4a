"""The files of a run: written whole, sealed, and checked before anything is run.

run.json ends with a seal, an HMAC under the key of the state directory over all that
stands before it, and names the digests of the other two. So a file that somebody else
put there, a plan that was changed and a run that was copied are named and not run. The
key guards against mistakes and fabrication, not against a program of this user that
reads it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NewType

import orjson

from bridge.engine.run_ids import VERSION
from bridge.errors import BridgeError, InvalidRequest
from bridge.protocol.ids import is_id
from bridge.protocol.record import refuse_newer, refuse_unknown
from bridge.store.directory import NotAPlainFile
from bridge.store.live_runs import FILE, RUNS
from bridge.store.records import has_seal, with_seal

if TYPE_CHECKING:
    from bridge.engine.run import Details, Linked, Run
    from bridge.store.directory import Folder
    from bridge.store.state import State

Digest = NewType("Digest", str)
PLAN, DETAILS = "plan.json", "details.json"
# Those of `Run`, which only type checkers load.
_KEYS = (
    "schemaVersion run name source text plan details rev status why open nodes vars "
    "loops due said look asked called agents tokens until policy parent root depth "
    "resumed params ask fanOut out at uptime createdAt"
)
KEYS = frozenset(_KEYS.split())
# Version 1 has said `form`, for runs of pipelines.
MORE_KEYS = frozenset({"form", "settings", "done", "seal"})
# A file for people to read, as long as that costs nothing.
_READABLE = 200


class BadRun(BridgeError):
    """The files of a run are not as hostbridge wrote them; nothing of it is run."""

    code = "bad_request"

    def __init__(self, path: str, problem: str) -> None:
        before, _, after = path.rpartition(f"/{RUNS}/")
        run = after.partition("/")[0]
        super().__init__(
            f"{path}: {problem}; nothing of this run is done",
            ways=(f"remove {before}/{RUNS}/{run}, and run the flow again",),
        )


class UnknownRun(InvalidRequest):
    """There is no such run."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"there is no run {run_id!r}; see `hostbridge runs`")


def folder_of(state: State, run_id: str) -> Folder:
    """The folder of a run.

    Raises:
        UnknownRun: there is none.
    """
    if is_id(run_id) and (state.make or state[RUNS].has(run_id)):
        folder = state[RUNS].folder(run_id, make=False)
        if folder.has(FILE):
            return folder
        folder.close()
    raise UnknownRun(run_id)


def put(folder: Folder, name: str, value: Any) -> Digest:
    """Write a file that never changes; returns its digest."""
    data = orjson.dumps(value)
    folder.replace(name, data)
    return digest_of(data)


def digest_of(data: bytes) -> Digest:
    """By what such a file is known again."""
    return Digest(hashlib.sha256(data).hexdigest())


def write(folder: Folder, run: Run, key: bytes, *, durable: bool = True) -> None:
    """Write how far a run is.

    Unless it is `durable`, a power cut may leave the state before: what has been
    answered since leads to the same again.
    """
    is_short = len(run["nodes"]) <= _READABLE
    data = orjson.dumps(run, option=orjson.OPT_INDENT_2 if is_short else 0)
    folder.replace(FILE, with_seal(data, key, "run"), durable=durable)


def read(folder: Folder, run_id: str, key: bytes) -> Run:
    """How far a run is.

    Raises:
        BadRun: the file is not as it was written, of another run, or of another
            version of hostbridge.
        NewerSchema: a newer hostbridge wrote it, or something unknown is in it.
    """
    path = f"{folder.path}/{FILE}"
    data = _bytes(folder, FILE)
    try:
        run = orjson.loads(data)
        version, name = run["schemaVersion"], run["run"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        version = name = None
    if type(version) is int:
        refuse_newer(version, VERSION, file=path)
    if not has_seal(data, key, "run"):
        raise BadRun(path, "not written by hostbridge: the seal is missing or wrong")
    refuse_unknown(run, (*KEYS, *MORE_KEYS), file=path)
    if version not in (1, VERSION) or not run.keys() >= KEYS:
        raise BadRun(path, "another version of hostbridge wrote it")
    if name != run_id:
        raise BadRun(path, f"it is of another run, {name}")
    del run["seal"]
    found: Run = run
    return found


def read_plan(folder: Folder, run: Run) -> Linked:
    """The part of a run's plan that each step reads; raises `BadRun`."""
    plan: Linked = orjson.loads(checked(folder, PLAN, run["plan"]))
    return plan


def read_details(folder: Folder, run: Run) -> Details:
    """The rest of a run's plan; raises `BadRun`."""
    data: Any = orjson.loads(checked(folder, DETAILS, run["details"]))
    if run["schemaVersion"] == 1:
        from bridge.engine.older_runs import details_of_version_1

        data = details_of_version_1(data)
    details: Details = data
    return details


def checked(folder: Folder, name: str, digest: str) -> bytes:
    """The bytes of a file that never changes.

    Raises:
        BadRun: it has changed, or is not there.
    """
    data = _bytes(folder, name)
    if digest_of(data) != digest:
        raise BadRun(f"{folder.path}/{name}", "it has changed since the run began")
    return data


def _bytes(folder: Folder, name: str) -> bytes:
    try:
        data = folder.read(name)
    except NotAPlainFile as exc:
        raise BadRun(exc.path, exc.problem) from None
    if data is None:
        raise BadRun(f"{folder.path}/{name}", "it is not there")
    return data
