"""Which Claude Code sessions are open in this project.

    sessions/<id>.json    the session: its process, its folder, what its agents took
    sessions/<id>.ended   the same once it is over, for `--resume`
    sessions/<id>.<pid>.json  the same, of a second process with the same session id
    sessions/<id>.beat    its heartbeat (touched by the hooks)
    sessions/<id>.looked  the newest queue it has nothing to do with (see hooks/lib.sh)
    sessions/<id>.offer   an offer is open (see hooks/lib.sh)
    sessions/<id>.passed  requests that are not for it (see bridge/store/claim_next.py)
    sessions/<id>.off     the user switched the bridge off in it
    sessions/<id>.notes   what its user will be told (host/told_later.py)
    sessions/<id>.handovers.json  the requests of calls (bridge/store/tool_calls.py)
    sessions/<id>.callers.json  who called our MCP tools (bridge/store/tool_calls.py)
    sessions/<id>.vars.json  its variables, which outlive it (bridge/store/variables.py)
    sessions/<id>.steps.json  its step workflow, likewise (bridge/store/step_states.py)

A session lives as long as its process. `/clear` gives the process a new session id;
what was meant for the old id is then meant for the new one. If a session is resumed
while it is open elsewhere, two processes have one session id.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from bridge.errors import BridgeError, InvalidRequest
from bridge.protocol.claim import HostProcess, SessionId
from bridge.protocol.ids import is_id
from bridge.protocol.plain_types import field
from bridge.protocol.record import Count, Milliseconds, Record
from bridge.protocol.request import Request
from bridge.protocol.value import Value
from bridge.protocol.wording import MAX_NOTE, one_line
from bridge.store.book import Book
from bridge.store.claim import host_is_gone
from bridge.store.clock import uptime
from bridge.store.host_process import Liveness, liveness
from bridge.store.records import read_to_replace
from bridge.store.spending import Spending
from bridge.store.state import State
from bridge.store.store import Store

# A queue that changed later is not marked as seen: another change within the same tick
# of the file system's clock would not show.
_SETTLED_MS = 2_000
_MAX_NOTES = 3
# Below the client's own limit of 8 for hooks that prevent a stop.
MAX_STOP_OFFERS = 5
# The sign comes before what it stands for.
_STEPS = ".steps"
_OF_STEPS = (".steps.json", ".steps-ended.json")
_OF_RULES = (".vars.json", ".handovers.json", ".notes")
_SUFFIXES = (
    ".json", ".beat", ".looked", ".passed", ".offer", ".off", ".notes",
    ".handovers.json", ".callers.json",
)  # fmt: skip


class SessionLimits(Value):
    """The limits that a session obeys; its own environment has set `by_variable`."""

    slots: Count
    agents_per_hour: Count
    # None in the record of an earlier version: the default.
    agents_per_session: Count | None = None
    tokens_per_hour: Count | None = None
    tokens_per_session: Count | None = None
    fan_out: Count | None = None
    max_depth: Count | None = None
    by_variable: tuple[str, ...] = ()


class Session(Record):
    """One open session. Times are milliseconds since 1970."""

    session_id: SessionId
    host: HostProcess
    cwd: str = ""
    transcript_path: str = ""
    registered_at: Milliseconds
    former_ids: tuple[str, ...] = ()
    # See `store.spending`, which reads it only where it is needed.
    spent: dict[str, Any] = field(default_factory=dict)
    # Offers made at the end of a turn, one after the other, that the model ignored.
    stop_offers: Count = 0
    # `claude -p` without a stream of prompts: it cannot be woken, and a blocked notice
    # would replace its result.
    one_shot: bool = False
    # Whether its client watches for our signal. A session that was open before the
    # install does not, until it changes its folder or gets another SessionStart.
    wakes: bool = False
    # The client's name for our own read-only agent, if it knows one.
    carrier: str | None = None
    # What its agents run on that name no model; empty if that is unknown.
    model: str = ""
    # As they were when it began, or last looked at the queue.
    limits: SessionLimits | None = None

    @property
    def ids(self) -> frozenset[str]:
        """Every id this session has had."""
        return frozenset((self.session_id, *self.former_ids))

    def may_take(self, request: Request) -> bool:
        """Whether a request is for this session, and not declined by it.

        One rule for callers and for offers: with two, a request could wait for a
        session that never takes it.
        """
        is_meant = request.session is None or request.session in self.ids
        is_declined = bool(self.ids & set(request.declined_by))
        return request.route == "host" and is_meant and not is_declined

    @property
    def spending(self) -> Spending:
        """What its agents took."""
        return Spending.read(self.spent)


_OPEN = Book.of("sessions", Session)
_ENDED = Book.of("sessions", Session, ".ended")


def all_sessions(store: Store) -> list[Session]:
    """Every session on record, also those of processes that are gone."""
    with store.state() as state:
        return [session for _, session in _records(state)]


def find_session(store: Store, session_id: str, host: HostProcess) -> Session | None:
    """The session of this process on record."""
    with store.state() as state:
        return next((s for _, s in _of_process(state, session_id, host)), None)


def same_id(store: Store, session_id: str) -> Session | None:
    """The session that has the record of this id, of whichever process, or had it."""
    return _OPEN.get(store, session_id) or _ENDED.get(store, session_id)


def live_sessions(
    store: Store, *, which: Callable[[Session], bool] = lambda _: True
) -> list[Session]:
    """Sessions whose process runs, newest first; only those that `which` accepts.

    `which` is asked first, because looking for the process takes longest.
    """
    if not store.exists():
        return []
    with store.open() as opened:
        alive = [
            session
            for session in all_sessions(opened)
            if which(session) and not is_gone(opened, session)
        ]
    return sorted(alive, key=lambda s: -s.registered_at)


def is_gone(store: Store, session: Session) -> bool:
    """Whether the session's process is gone."""
    with store.state() as state:
        return host_is_gone(
            state, session.session_id, session.host, sign_ms=session.registered_at
        )


def open_session(store: Store, session_id: str) -> Session:
    """The live session that has this id, or once had it, or the only one like it.

    Raises:
        InvalidRequest: there is none, or it is not an id.
    """
    if not is_id(session_id):
        raise InvalidRequest(
            f"session {session_id!r}: expected 1 to 128 of A-Z a-z 0-9 _ -"
        )
    alive = live_sessions(store)
    named = [session for session in alive if session.session_id == session_id]
    former = [session for session in alive if session_id in session.former_ids]
    begun = [each for each in alive if each.session_id.startswith(session_id)]
    if found := named or former or begun[: len(begun) == 1]:
        return found[0]
    known = ", ".join(session.session_id for session in alive) or "none"
    raise InvalidRequest(f"session {session_id!r} is not open here (open: {known})")


def save(store: Store, session: Session) -> None:
    """Write a session down, beside a live one with the same id in another process.

    Raises:
        NewerSchema: a newer hostbridge, whose hooks run beside ours, has its record.
    """
    with store.state() as state:
        name = session.session_id
        holder = read_to_replace(state["sessions"], f"{name}.json", Session)
        is_taken = holder is not None and holder.host != session.host
        if holder and is_taken and liveness(holder.host) is not Liveness.GONE:
            name = _second_name(name, session.host)
        _OPEN.put(state, name, session)


def remove(store: Store, session: Session) -> None:
    """Remove the files of one session."""
    name = session.session_id
    with store.state() as state:
        holder = _OPEN.get(state, name)
        if holder is not None and holder.host != session.host:
            _OPEN.forget(state, _second_name(name, session.host))
            return
        if session.spent:
            _ENDED.put(state, name, session)
        for suffix in _SUFFIXES:
            state["sessions"].remove(f"{name}{suffix}")


def take_over(store: Store, former: str, session_id: str) -> None:
    """After `/clear` the session has another id: what rules noted goes with it.

    So does its step workflow, with the variables that it reads.
    """
    with store.folder("sessions") as folder:
        if folder.has(former + _STEPS):
            folder.touch(session_id + _STEPS)
        for suffix in (*_OF_RULES, *_OF_STEPS):
            name = session_id + suffix
            if folder.has(former + suffix) and not folder.has(name):
                folder.move(former + suffix, folder, name)
        folder.remove(former + _STEPS)


def note_launch(store: Store, session: Session, call: str, *, left_ms: int) -> None:
    """Count one agent, which has this time left, against the session's budgets."""
    now = uptime(store.clock)

    def counted(current: Session) -> Session:
        spent = current.spending.started(call, now, until=now.ms + left_ms)
        return current.with_(spent=spent.to_data(), stop_offers=0)

    _change(store, session, counted)


def change_spending(
    store: State, host: HostProcess | None, change: Callable[[Spending], Spending]
) -> None:
    """Change what the session of a process has used, or any.

    Found by its process: `/clear` gives it another id while its agents work.
    """
    with store.state() as state, state.hold_if_free():
        for name, current in _records(state):
            before = current.spending
            after = change(before) if host in (None, current.host) else before
            if after != before:
                _OPEN.put(state, name, current.with_(spent=after.to_data()))


def note_limits(store: Store, session: Session, limits: SessionLimits) -> None:
    """Write down the limits that it obeys from now on."""
    if session.limits != limits:
        _change(store, session, lambda s: s.with_(limits=limits))


def note_watch(store: Store, session: Session) -> None:
    """Write down that its client watches for our signal from now on."""
    if not session.wakes:
        _change(store, session, lambda s: s.with_(wakes=True))


def note_model(store: Store, session: Session, model: str) -> None:
    """Write down which model it has from now on; empty if that is unknown."""
    if session.model != model:
        _change(store, session, lambda s: s.with_(model=model))


def note_stop_offers(store: Store, session: Session, count: int) -> None:
    """Write down how many offers at the end of a turn went by."""
    if session.stop_offers != count:
        _change(store, session, lambda s: s.with_(stop_offers=count))


def _change(
    store: Store, session: Session, change: Callable[[Session], Session]
) -> None:
    with store.state() as state, state.hold():
        for name, current in _of_process(state, session.session_id, session.host):
            _OPEN.put(state, name, change(current))


# For the shell halves of the hooks, and for whoever looks whether a session lives


def mark_looked(store: Store, session_id: str) -> None:
    """Let the shell hook rest until the queue changes (see hooks/lib.sh).

    Call this before looking at the queue, so that no change is missed.
    """
    changed_ns = store.queue_changed_ns()
    if store.now_ms() - changed_ns // 1_000_000 >= _SETTLED_MS:
        with store.folder("sessions") as folder:
            folder.touch_at(f"{session_id}.looked", changed_ns)


def look_again(store: Store, session_id: str) -> None:
    """Have the shell hook look at the queue at the next tool call."""
    with store.folder("sessions") as folder:
        folder.remove(f"{session_id}.looked")


def mark_offer(store: Store, session_id: str, *, is_open: bool) -> None:
    """Tell the shell hook whether an offer is open."""
    with store.folder("sessions") as folder:
        mark = folder.touch if is_open else folder.remove
        mark(f"{session_id}.offer")


def beat(store: Store, session_id: str) -> None:
    """Touch the heartbeat."""
    with store.folder("sessions") as folder:
        folder.beat(f"{session_id}.beat")


def last_beat_s(store: Store, session_id: str) -> float:
    """When a hook of the session ran last, in seconds since 1970; 0 if unknown."""
    with store.folder("sessions") as folder:
        facts = folder.facts(f"{session_id}.beat")
        return facts.st_mtime if facts else 0.0


def remove_beat(store: Store, session_id: str) -> None:
    """Remove the heartbeat."""
    with store.folder("sessions") as folder:
        folder.remove(f"{session_id}.beat")


def tell_sessions(store: Store, notes: Iterable[str]) -> None:
    """Keep lines for the users of all open sessions: for a process that is no hook."""
    lines = [one_line(note, MAX_NOTE) for note in notes]
    with suppress(BridgeError, OSError):
        open_now = live_sessions(store)
        with store.state() as state, state.hold():
            for session in open_now:
                keep_notes(state, session.session_id, lines)


def keep_notes(state: State, session_id: str, lines: list[str]) -> None:
    """Keep lines for a session's user, the same one once; a later hook says them."""
    file = f"{session_id}.notes"
    known = (state["sessions"].read(file) or b"").decode().splitlines()
    text = "\n".join([*dict.fromkeys([*known, *lines])][:_MAX_NOTES])
    state["sessions"].replace(file, text.encode(), durable=False)


def _second_name(session_id: str, host: HostProcess) -> str:
    """The name of the record where another process has that of the id."""
    return f"{session_id}.{host.pid}"


def _of_process(
    state: State, session_id: str, host: HostProcess
) -> Iterator[tuple[str, Session]]:
    """The record of the session of this process, and its name."""
    for name in (session_id, _second_name(session_id, host)):
        session = _OPEN.get(state, name)
        if session is not None and session.host == host:
            yield name, session
            return


def _records(state: State) -> Iterator[tuple[str, Session]]:
    """The records of sessions, by name; what else one has is called `<id>.word`."""
    for name in _OPEN.names(state):
        more = name.partition(".")[2]
        session = _OPEN.get(state, name) if not more or more.isdigit() else None
        if session is not None:
            yield name, session
