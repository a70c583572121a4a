"""Step workflows that are active, on disk, beside their conversation's variables.

    sessions/<id>.steps.json        the workflow of a session's main thread
    agents/<agent_id>.steps         that of an agent of ours
    sessions/<id>.steps-ended.json  those that have ended there, the last of them
    agents/<agent_id>.steps-ended
    sessions/<id>.steps             a sign for the shell: the session may have one

One per conversation. The record holds the compiled workflow, too: a file that changes
does not change what runs. It is there while the workflow is active, or has something to
tell the model. Who changes it holds `locks/steps.lock`, which is free within
milliseconds, but for the actions of a step.

Written in this order: the record with its `pending` changes of variables, those, the
record without them. Whoever finds some pending does them again, which changes nothing
if they were done: see `bridge.store.variables`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from bridge.errors import BridgeError, InvalidRequest, NewerSchema, StateRefused
from bridge.policy.step_workflow import KEYS, step_of
from bridge.protocol import plain_json
from bridge.protocol.record import refuse_newer, refuse_unknown
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.lock import lock_in
from bridge.store.records import has_seal, with_seal

if TYPE_CHECKING:
    from bridge.policy.step_record import StepRecord
    from bridge.store.state import State
    from bridge.store.store import Store
    from bridge.store.variables import Holder

    Json = dict[str, Any]

VERSION = 1
MAX_BYTES = 4 * 1024 * 1024
SIGN = ".steps"
LOCK = "steps.lock"
_KIND = "steps"
_MAX_ENDED = 20
# The actions of a step, such as a call of a tool, are done under the lock.
_LOCK_WAIT_S = 20.0
_TOLD = (
    "run", "step", "status", "why", "visit", "by", "activatedAt", "endedAt", "history",
    "problems",
)  # fmt: skip


class WorkflowActive(BridgeError):
    """A step workflow is active in this conversation; there is one at a time."""

    # As the errors beside it: where people import it from.
    __module__ = "bridge"
    code = "workflow_active"

    def __init__(self, record: StepRecord) -> None:
        name, step = record["code"]["name"], record["step"]
        super().__init__(
            f"the workflow {name} is active in this conversation, in step {step}; "
            "there is one at a time",
            ways=(
                "go on with it: hostbridge workflow status shows how",
                "end it, in a terminal of your own: hostbridge workflow end",
            ),
        )
        self.name = name
        self.step = step


class BrokenState(StateRefused):
    """The record of an active workflow cannot be read."""

    def __init__(self, path: Path, why: str, cure: str) -> None:
        super().__init__(path, why, cure)
        self.why = why


class Place(NamedTuple):
    """The files of one conversation's workflow, and their folder."""

    folder: Literal["sessions", "agents"]
    active: str
    ended: str

    @classmethod
    def of(cls, holder: Holder) -> Place:
        """Those of a conversation."""
        end = ".json" if holder.folder == "sessions" else ""
        stem = f"{holder.owner_id}.steps"
        return cls(holder.folder, f"{stem}{end}", f"{stem}-ended{end}")


@contextmanager
def changing(store: Store) -> Iterator[State]:
    """The state, with the lock of step workflows.

    Raises:
        LockBusy: somebody else holds it for long.
    """
    with store.state() as state:
        wait_s = max(state.lock_wait_s, 0.0) and _LOCK_WAIT_S
        with lock_in(state["locks"], LOCK, wait_s=min(wait_s, _LOCK_WAIT_S)):
            yield state


def find(store: Store, holder: Holder) -> StepRecord | None:
    """The record of a conversation's workflow, active or just ended; None if none.

    Raises:
        BrokenState: there is one, and it cannot be read.
        NewerSchema: a newer hostbridge wrote it.
    """
    if not store.exists():
        return None
    with store.state() as state:
        return load(state, holder)


def left_at(store: Store, holder: Holder) -> str:
    """Where a conversation ends whose workflow has not; empty if it has, or never does.

    Such as "in step `test` of the workflow tdd".
    """
    try:
        record = find(store, holder)
    except BrokenState as error:
        return f"in a workflow whose record {error.path} {error.why}"
    except NewerSchema as error:
        return f"in a workflow that cannot be read: {error.what}"
    if record is None or step_of(record) is None or not record["code"].get("exit"):
        return ""
    return f"in step {record['step']!r} of the workflow {record['code']['name']}"


def load(state: State, holder: Holder) -> StepRecord | None:
    """As `find`, in an open state."""
    folder, file = state[holder.folder], Place.of(holder).active
    try:
        data = folder.read(file, MAX_BYTES)
        record = plain_json.loads(data) if data is not None else None
    except (NotAPlainFile, plain_json.JSONDecodeError) as exc:
        raise _broken(folder, file, str(exc)) from None
    if record is None:
        return None
    if not isinstance(record, dict):
        raise _broken(folder, file, "not a record of a workflow")
    path, version = f"{folder.path}/{file}", record.get("schemaVersion")
    refuse_newer(version if isinstance(version, int) else 0, VERSION, file=path)
    if data is None or not has_seal(data, state.key(), _KIND):
        raise _broken(folder, file, "not written by hostbridge: its seal is wrong")
    del record["seal"]
    refuse_unknown(record, KEYS, file=path)
    if record.get("status") != "ended" and step_of(record) is None:
        raise _broken(folder, file, "not a record of a workflow")
    return cast("StepRecord", record)


def holders(state: State) -> list[Holder]:
    """The conversations that have a record, sessions first."""
    from bridge.store.variables import Holder

    sessions = sorted(state["sessions"].names(f"{SIGN}.json"))
    agents = sorted(state["agents"].names(SIGN))
    return [*map(Holder.session, sessions), *map(Holder.agent, agents)]


def _broken(folder: Folder, file: str, why: str) -> BrokenState:
    cure = "end it, in a terminal of your own: hostbridge workflow end"
    return BrokenState(Path(folder.path, file), f"cannot be read ({why})", cure)


def save(state: State, holder: Holder, record: StepRecord) -> None:
    """Write the record of a workflow, durable; its sign is there before.

    Raises:
        InvalidRequest: it would be longer than what is read; what is there stays.
    """
    data = with_seal(plain_json.dumps(record), state.key(), _KIND)
    if len(data) > MAX_BYTES:
        raise InvalidRequest(
            f"the workflow {record['code']['name']} would have {len(data):,} bytes "
            f"with all that is said and set; {MAX_BYTES:,} is the limit"
        )
    if session := record.get("session"):
        state["sessions"].beat(f"{session}{SIGN}")
    state[holder.folder].replace(Place.of(holder).active, data)


def put_away(state: State, holder: Holder, record: StepRecord) -> None:
    """Put a workflow that has ended among the earlier ones."""
    place, folder = Place.of(holder), state[holder.folder]
    known = earlier(folder, holder)
    if all(each.get("run") != record["run"] for each in known):
        code: Mapping[str, Any] = record.get("code", {})
        told = {name: value for name, value in record.items() if name in _TOLD}
        told |= {name: code.get(name) for name in ("name", "file", "digest")}
        kept = {"schemaVersion": VERSION, "ended": [*known, told][-_MAX_ENDED:]}
        data = plain_json.dumps(kept, indented=True) + b"\n"
        folder.replace(place.ended, data)
    folder.remove(place.active)
    # After `/clear` a record has the former id of its session.
    own = {holder.owner_id} if holder.folder == "sessions" else set()
    for session in own | {record.get("session", "")}:
        remove_sign(state, session)


def put_aside(state: State, holder: Holder, why: str) -> None:
    """Move a record that cannot be read to quarantine."""
    with state.hold():
        state.put_aside(holder.folder, Place.of(holder).active, why)


def earlier(folder: Folder, holder: Holder) -> list[Json]:
    """The workflows that have ended in a conversation, the last one at the end."""
    with suppress(NotAPlainFile, plain_json.JSONDecodeError):
        data = folder.read(Place.of(holder).ended, MAX_BYTES)
        record = plain_json.loads(data or b"{}")
        record = record if isinstance(record, dict) else {}
        version, found = record.get("schemaVersion"), record.get("ended")
        path = f"{folder.path}/{Place.of(holder).ended}"
        refuse_newer(version if isinstance(version, int) else 0, VERSION, file=path)
        return [each for each in found or () if isinstance(each, dict)]
    return []


def remove_sign(state: State, session: str, ids: Collection[str] = ()) -> None:
    """Remove the sign of a session without any workflow; one too many does no harm.

    `ids` are all that it has had: after `/clear` the workflows of its agents name an
    earlier one.
    """
    if not session or state["sessions"].has(f"{session}{SIGN}.json"):
        return
    ids = {session, *ids}
    agents = state["agents"]
    for name in agents.names(SIGN):
        with suppress(NotAPlainFile, plain_json.JSONDecodeError):
            record = plain_json.loads(agents.read(f"{name}{SIGN}", MAX_BYTES) or b"{}")
            if isinstance(record, Mapping) and record.get("session") in ids:
                return
    state["sessions"].remove(f"{session}{SIGN}")
