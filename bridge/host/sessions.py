"""Which Claude Code sessions are open in this project.

    sessions/<id>.json    the session: its process, its folder, the agents it started
    sessions/<id>.owner   which of several installs acts for it (written by the hooks)
    sessions/<id>.beat    its last sign of life (touched by the hooks)
    sessions/<id>.looked  the newest queue it has nothing to do with (see hooks/lib.sh)

A session lives as long as its process. `/clear` gives the same process a new session id;
what was meant for the old id is then meant for the new one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import NewerSchema
from bridge.protocol.record import Milliseconds, Record, Unparsable, parse
from bridge.protocol.request import HostProcess, SessionId
from bridge.store.files import host_is_gone
from bridge.store.folder import NotAPlainFile
from bridge.store.process import arguments_of, identify

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.host.events import HookEvent
    from bridge.store.files import FileStore
    from bridge.store.folder import Folder

HOUR_MS = 3_600_000
SUFFIXES = (".json", ".owner", ".beat", ".looked", ".offer", ".off")


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
    stop_offers: int = 0
    # `claude -p` without a stream of prompts: it cannot be woken, and a notice that is
    # swallowed would take the place of its result.
    one_shot: bool = False
    # A session that was open before the install has no watch: nothing wakes it.
    wakes: bool = False

    @property
    def ids(self) -> frozenset[str]:
        """Every id this session has had."""
        return frozenset((self.session_id, *self.former_ids))

    def launched_since(self, moment_ms: int) -> int:
        """How many agents it started after `moment_ms`."""
        return sum(at > moment_ms for at in self.launches)


def register(store: FileStore, event: HookEvent, pid: int) -> Session | None:
    """Write down the session an event came from; None when its process is gone."""
    host = identify(pid)
    session_id = event.text("session_id")
    if host is None or not session_id:
        return None
    with store.open_state() as state, state.folder("sessions") as folder:
        known = [s for s in _load_all(folder) if s.host == host]
        before = max(known, key=lambda s: s.registered_at, default=None)
        # Ids of one process follow each other; the newest knows the earlier ones.
        former = (before.ids - {session_id}) if before else frozenset()
        is_start = event.name == "SessionStart"
        session = Session(
            session_id=session_id,
            host=host,
            cwd=event.text("cwd"),
            transcript_path=event.text("transcript_path"),
            registered_at=store.now_ms(),
            former_ids=tuple(sorted(former)),
            launches=before.launches if before else (),
            one_shot=is_one_shot(arguments_of(pid)),
            wakes=is_start or (before is not None and before.wakes),
        )
        folder.replace(f"{session_id}.json", session.to_json(), durable=False)
        for old in former:
            forget_in(folder, old)
    return session


def is_one_shot(arguments: list[str]) -> bool:
    """Whether a client with these arguments answers one prompt and ends.

    Source: measured on Claude Code 2.1.330: no variable tells it from a stream of prompts.
    """
    if not {"-p", "--print"} & set(arguments):
        return False
    told = " ".join(arguments)
    return not re.search(r"--input-format[= ]stream-json", told)


def forget_in(folder: Folder, session_id: str) -> None:
    """Remove what is written down about one session."""
    for suffix in SUFFIXES:
        folder.remove(f"{session_id}{suffix}")


def forget(store: FileStore, session_id: str) -> None:
    """Remove what is written down about one session."""
    with store.open_state() as state, state.folder("sessions") as folder:
        forget_in(folder, session_id)


def find_session(store: FileStore, session_id: str) -> Session | None:
    """The session as written down, alive or not."""
    with store.open_state() as state, state.folder("sessions") as folder:
        return _load(folder, session_id)


def live_sessions(store: FileStore, *, lease_s: float) -> list[Session]:
    """Sessions whose process runs, newest first; those gone are forgotten on the way."""
    now_s = store.clock.now_us() / 1_000_000
    alive = []
    with store.open_state() as state, state.folder("sessions") as folder:
        for session in _load_all(folder):
            if host_is_gone(
                state, session.session_id, session.host, lease_s=lease_s, now_s=now_s
            ):
                forget_in(folder, session.session_id)
            else:
                alive.append(session)
    return sorted(alive, key=lambda s: -s.registered_at)


def is_off(store: FileStore, session_id: str | None = None) -> bool:
    """Whether the user switched the bridge off, here or for one session."""
    with store.open_state() as state:
        if state.has("off"):
            return True
        with state.folder("sessions") as folder:
            return session_id is not None and folder.has(f"{session_id}.off")


def note_launch(store: FileStore, session: Session) -> None:
    """Count one agent against the session's budget of the hour."""
    now_ms = store.now_ms()

    def counted(current: Session) -> Session:
        recent = (at for at in current.launches if at > now_ms - HOUR_MS)
        return current.with_(launches=(*recent, now_ms), stop_offers=0)

    _change(store, session.session_id, counted)


def note_stop_offers(store: FileStore, session: Session, count: int) -> None:
    """Write down how many offers at the end of a turn went by."""
    if session.stop_offers != count:
        _change(store, session.session_id, lambda s: s.with_(stop_offers=count))


def _change(
    store: FileStore, session_id: str, change: Callable[[Session], Session]
) -> None:
    with store.exclusive() as state, state.folder("sessions") as folder:
        current = _load(folder, session_id)
        if current is not None:
            data = change(current).to_json()
            folder.replace(f"{session_id}.json", data, durable=False)


def own(store: FileStore, session_id: str, kind: str) -> bool:
    """Whether the install `kind` acts for a session: the first to ask does."""
    name = f"{session_id}.owner"
    with store.open_state() as state, state.folder("sessions") as folder:
        with suppress(FileExistsError):
            folder.create(name, kind.encode() + b"\n")
        return (folder.read(name) or b"").decode("ascii", "replace").strip() == kind


def disown(store: FileStore, kind: str) -> None:
    """An install is gone: let another act for the sessions it acted for."""
    with store.open_state() as state, state.folder("sessions") as folder:
        for name in folder.names(".owner"):
            if (folder.read(f"{name}.owner") or b"").strip() == kind.encode():
                folder.remove(f"{name}.owner")


def _load_all(folder: Folder) -> list[Session]:
    loaded = (_load(folder, name) for name in folder.names())
    return [session for session in loaded if session is not None]


def _load(folder: Folder, session_id: str) -> Session | None:
    with suppress(Unparsable, NewerSchema, NotAPlainFile):
        data = folder.read(f"{session_id}.json")
        return parse(Session, data) if data else None
    return None
