"""Which Claude Code sessions are open in this project.

    sessions/<id>.json    the session: its process, its folder, the agents it started
    sessions/<id>.<pid>.json  the same, of a second process with the same session id
    sessions/<id>.beat    its last sign of life (touched by the hooks)
    sessions/<id>.looked  the newest queue it has nothing to do with (see hooks/lib.sh)
    sessions/<id>.passed  requests that are not for it (see bridge/store/passing.py)

A session lives as long as its process. `/clear` gives the same process a new session
id; what was meant for the old id is then meant for the new one. A session that is
resumed while it is still open elsewhere is two sessions with one id.

Where a session belongs, and which install acts for it, is in `pins`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.errors import InvalidRequest, NewerSchema
from bridge.host import pins
from bridge.protocol.ids import is_id
from bridge.protocol.record import Count, Milliseconds, Record, Unparsable, parse
from bridge.protocol.request import HostProcess, SessionId
from bridge.store.directory import NotAPlainFile
from bridge.store.host_process import Liveness, arguments_of, liveness
from bridge.store.lease import host_is_gone
from bridge.store.lock import LockBusy

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.host.events import HookEvent
    from bridge.store.directory import Folder
    from bridge.store.store import Store

HOUR_MS = 3_600_000
# The client begins to watch what a hook of one of these events names.
WATCHING = frozenset({"SessionStart", "CwdChanged"})
SUFFIXES = (".json", ".beat", ".looked", ".passed", ".offer", ".off")


class Session(Record):
    """One open session. Times are milliseconds since 1970."""

    session_id: SessionId
    host: HostProcess
    cwd: str = ""
    transcript_path: str = ""
    registered_at: Milliseconds
    former_ids: tuple[str, ...] = ()
    launches: tuple[Milliseconds, ...] = ()
    # Offers made at the end of a turn, one after the other, that the model ignored.
    stop_offers: Count = 0
    # `claude -p` without a stream of prompts: it cannot be woken, and a notice that is
    # swallowed would take the place of its result.
    one_shot: bool = False
    # Whether its client watches the bell. One that was open before the install does
    # not, until it changes its folder or its SessionStart comes again.
    wakes: bool = False
    # How the client knows our own agent for definitions that only read, if it does.
    carrier: str | None = None

    @property
    def ids(self) -> frozenset[str]:
        """Every id this session has had."""
        return frozenset((self.session_id, *self.former_ids))

    def launches_of_hour(self, now_ms: int) -> list[int]:
        """When it started agents within the last hour, oldest first.

        A time to come is that of a clock which has been set back: it says nothing.
        """
        return sorted(at for at in self.launches if 0 <= now_ms - at < HOUR_MS)


def register(
    store: Store, event: HookEvent, host: HostProcess, carrier: str | None = None
) -> Session:
    """Write down the session an event came from.

    `carrier` is our own agent as its client knows it.
    """
    try:
        with store.exclusive() as state, state.folder("sessions") as folder:
            return _register(store, folder, event, host, carrier)
    except LockBusy:
        # What the lock keeps away is rare; a session that is not known is deaf.
        with store.open_state() as state, state.folder("sessions") as folder:
            return _register(store, folder, event, host, carrier)


def _register(
    store: Store,
    folder: Folder,
    event: HookEvent,
    host: HostProcess,
    carrier: str | None,
) -> Session:
    session_id = event.text("session_id")
    known = [s for s in _load_all(folder) if s.host == host]
    before = max(known, key=lambda s: s.registered_at, default=None)
    resumed = _load(folder, session_id)
    # Ids of one process follow each other; the newest knows the earlier ones.
    former = (before.ids - {session_id}) if before else frozenset()
    last = before or resumed
    session = Session(
        session_id=session_id,
        host=host,
        cwd=event.text("cwd"),
        transcript_path=event.text("transcript_path"),
        registered_at=store.now_ms(),
        former_ids=tuple(sorted(former)),
        launches=last.launches if last else (),
        one_shot=is_one_shot(arguments_of(host.pid)),
        wakes=event.name in WATCHING or (before is not None and before.wakes),
        # The same process has what it had when it started.
        carrier=before.carrier if before else carrier,
    )
    name = session_id
    if resumed and resumed.host != host and liveness(resumed.host) != Liveness.GONE:
        name = _second(session)
    folder.replace(f"{name}.json", session.to_json(), durable=False)
    for old in known:
        if old.session_id == session_id:
            continue
        # Switched off by the user: `/clear` does not switch it on.
        if folder.has(f"{old.session_id}.off"):
            folder.touch(f"{session_id}.off")
        _forget(store, folder, old)
    return session


def _second(session: Session) -> str:
    """The name of a record where another process has the session's own."""
    return f"{session.session_id}.{session.host.pid}"


def is_one_shot(arguments: list[str]) -> bool:
    """Whether a client with these arguments answers one prompt and ends.

    Source: measured on Claude Code 2.1.330: no variable tells it from a stream of
    prompts.
    """
    if not {"-p", "--print"} & set(arguments):
        return False
    told = "\0".join(arguments)
    return not re.search(r"(^|\0)--input-format[=\0]stream-json", told)


def forget(store: Store, session: Session) -> None:
    """Remove what is written down about one session."""
    with store.open_state() as state, state.folder("sessions") as folder:
        _forget(store, folder, session)


def forget_gone(store: Store, *, lease_s: float) -> None:
    """Forget the sessions whose process is gone."""
    with store.exclusive() as state, state.folder("sessions") as folder:
        for session in _load_all(folder):
            if _is_gone(store, state, session, lease_s):
                _forget(store, folder, session)


def _forget(store: Store, folder: Folder, session: Session) -> None:
    pins.remove(store.place, session.session_id, session.host)
    holder = _load(folder, session.session_id)
    if holder is not None and holder.host != session.host:
        folder.remove(f"{_second(session)}.json")
        return
    for suffix in SUFFIXES:
        folder.remove(f"{session.session_id}{suffix}")


def find_session(store: Store, session_id: str, host: HostProcess) -> Session | None:
    """The session of this process as written down."""
    with store.open_state() as state, state.folder("sessions") as folder:
        for name in (session_id, f"{session_id}.{host.pid}"):
            session = _load(folder, name)
            if session is not None and session.host == host:
                return session
    return None


def live_sessions(
    store: Store,
    *,
    lease_s: float,
    which: Callable[[Session], bool] = lambda _: True,
) -> list[Session]:
    """Sessions whose process runs, newest first; only those that `which` says.

    It is asked before the process is looked for, which takes longest.
    """
    if not store.exists():
        return []
    with store.open_state() as state, state.folder("sessions") as folder:
        alive = [
            session
            for session in _load_all(folder)
            if which(session) and not _is_gone(store, state, session, lease_s)
        ]
    return sorted(alive, key=lambda s: -s.registered_at)


def _is_gone(store: Store, state: Folder, session: Session, lease_s: float) -> bool:
    return host_is_gone(
        state,
        session.session_id,
        session.host,
        lease_s=lease_s,
        now_s=store.clock.now_us() / 1_000_000,
        sign_ms=session.registered_at,
    )


def is_off(store: Store, session_id: str | None = None) -> bool:
    """Whether the user switched the bridge off, here or for one session."""
    if not store.exists():
        return False
    with store.open_state() as state:
        if state.has("off"):
            return True
        with state.folder("sessions") as folder:
            return session_id is not None and folder.has(f"{session_id}.off")


@dataclass(frozen=True, slots=True)
class Off:
    """What the user switched off: everything, or these sessions."""

    is_everything: bool
    sessions: frozenset[str]

    def __contains__(self, session_id: object) -> bool:
        return self.is_everything or session_id in self.sessions


def switched_off(store: Store) -> Off:
    """What is switched off, in one look."""
    if not store.exists():
        return Off(is_everything=False, sessions=frozenset())
    with store.open_state() as state, state.folder("sessions") as folder:
        return Off(state.has("off"), frozenset(folder.names(".off")))


def switch_off(store: Store, session: Session | None = None) -> None:
    """Stop the bridge, here or in one open session, until `switch_on`."""
    with store.open_state() as state:
        if session is None:
            state.touch("off")
            return
        with state.folder("sessions") as folder:
            folder.touch(f"{session.session_id}.off")


def switch_on(store: Store, session: Session | None = None) -> bool:
    """Let the bridge go on; False when it was not switched off."""
    if not store.exists():
        return False
    with store.open_state() as state:
        if session is None:
            return state.remove("off")
        with state.folder("sessions") as folder:
            return folder.remove(f"{session.session_id}.off")


def open_session(store: Store, session_id: str, *, lease_s: float) -> Session:
    """The live session that has this id, or else one that once had it.

    Raises:
        InvalidRequest: there is none, or it is no id.
    """
    if not is_id(session_id):
        raise InvalidRequest(
            f"session {session_id!r}: expected 1 to 128 of A-Z a-z 0-9 _ -"
        )
    alive = live_sessions(store, lease_s=lease_s)
    named = [session for session in alive if session.session_id == session_id]
    former = [session for session in alive if session_id in session.former_ids]
    for session in (*named, *former):
        return session
    known = ", ".join(session.session_id for session in alive) or "none"
    raise InvalidRequest(f"session {session_id!r} is not open here (open: {known})")


def note_launch(store: Store, session: Session) -> None:
    """Count one agent against the session's budget of the hour."""
    now_ms = store.now_ms()

    def counted(current: Session) -> Session:
        recent = current.launches_of_hour(now_ms)
        return current.with_(launches=(*recent, now_ms), stop_offers=0)

    _change(store, session, counted)


def note_watch(store: Store, session: Session) -> None:
    """Write down that its client watches the bell from now on."""
    if not session.wakes:
        _change(store, session, lambda s: s.with_(wakes=True))


def note_stop_offers(store: Store, session: Session, count: int) -> None:
    """Write down how many offers at the end of a turn went by."""
    if session.stop_offers != count:
        _change(store, session, lambda s: s.with_(stop_offers=count))


def _change(
    store: Store, session: Session, change: Callable[[Session], Session]
) -> None:
    with store.exclusive() as state, state.folder("sessions") as folder:
        for name in (session.session_id, _second(session)):
            current = _load(folder, name)
            if current is not None and current.host == session.host:
                data = change(current).to_json()
                folder.replace(f"{name}.json", data, durable=False)
                return


def _load_all(folder: Folder) -> list[Session]:
    loaded = (_load(folder, name) for name in folder.names())
    return [session for session in loaded if session is not None]


def _load(folder: Folder, session_id: str) -> Session | None:
    with suppress(Unparsable, NewerSchema, NotAPlainFile):
        data = folder.read(f"{session_id}.json")
        return parse(Session, data) if data else None
    return None
