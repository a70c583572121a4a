"""Record which session an event came from, and forget sessions that are gone.

Where a session belongs, and which install acts for it, is in `pins`.
"""

import re

from bridge.host.events import HookEvent
from bridge.protocol.claim import HostProcess
from bridge.store import idle_agents, sessions, switch, wakeups
from bridge.store.host_process import arguments_of, prints_to_terminal
from bridge.store.pins import Pins
from bridge.store.sessions import Session, SessionLimits
from bridge.store.store import Store

# The client starts watching what a hook of one of these events names.
WATCHING = frozenset({"SessionStart", "CwdChanged"})


def register(
    store: Store,
    event: HookEvent,
    host: HostProcess,
    carrier: str | None,
    limits: SessionLimits,
) -> Session:
    """Write down the session an event came from.

    `carrier` is the client's name for our own agent. If the lock is not free in time,
    register without it: a conflict is rare, and an unregistered session receives no
    offers.
    """
    session_id = event.text("session_id")
    with store.exclusive_if_free():
        known = [s for s in sessions.all_sessions(store) if s.host == host]
        before = max(known, key=lambda s: s.registered_at, default=None)
        # Ids of one process follow each other; the newest knows the earlier ones.
        former = (before.ids - {session_id}) if before else frozenset()
        last = before or sessions.same_id(store, session_id)
        session = Session(
            session_id=session_id,
            host=host,
            cwd=event.text("cwd"),
            transcript_path=event.text("transcript_path"),
            registered_at=store.now_ms(),
            former_ids=tuple(sorted(former)),
            spent=last.spent if last else {},
            one_shot=is_one_shot(arguments_of(host.pid)),
            wakes=event.name in WATCHING or (before is not None and before.wakes),
            # The process knows what it knew when it started.
            carrier=before.carrier if before else carrier,
            model=event.text("model")
            # With stream-json the client tells only of a switch.
            or (before.model if before else f"the first of session {session_id}"),
            limits=limits,
        )
        off = switch.switched_off(store).since
        earlier = [old for old in known if old.session_id != session_id]
        # First: once it is on record, nobody would look for what it had before.
        for old in earlier:
            # Switched off by the user: `/clear` does not switch it on.
            if old.session_id in off:
                switch.switch_off(store, session)
            sessions.take_over(store, old.session_id, session_id)
        sessions.save(store, session)
        for old in earlier:
            forget(store, old)
    return session


def is_one_shot(arguments: list[str]) -> bool:
    """Whether a client with these arguments answers one prompt and ends.

    Source: measured on Claude Code 2.1.330: no variable tells it from a stream of
    prompts.
    """
    if not {"-p", "--print"} & set(arguments):
        return False
    line = "\0".join(arguments)
    return not re.search(r"(^|\0)--input-format[=\0]stream-json", line)


def is_terminal(arguments: list[str]) -> bool:
    """Whether a client with these arguments talks with a person at a terminal."""
    return not ({"-p", "--print"} & set(arguments) or "stream-json" in str(arguments))


def decide_ring(store: Store, host: HostProcess, wake: str) -> None:
    """Have the session rung, if that is wanted and its client is at a terminal.

    A client that prints waits for its hooks in the background. It prints with one of
    these options, or if its output is no terminal; an option that may be one counts.

    Source: read in Claude Code 2.1.332.
    """
    arguments = arguments_of(host.pid)
    may_ring = (
        wake == "ring"
        and is_terminal(arguments)
        and not any(re.match(r"-\w*p\w*$|--(init|sdk)", each) for each in arguments)
        and prints_to_terminal(host.pid)
    )
    wakeups.set_ring(store, host, may_ring=may_ring)


def forget(store: Store, session: Session) -> None:
    """Remove the records of one session."""
    Pins(store.place.guard).forget(session.session_id, session.host)
    strike_off(store, session)


def strike_off(store: Store, session: Session) -> None:
    """The same, but for the pin: it is open, and takes no requests."""
    with store.state() as state:
        idle_agents.forget_of(state, session.session_id, session.host)
    sessions.remove(store, session)


def forget_gone(store: Store) -> None:
    """Forget the sessions whose process is gone."""
    with store.open() as opened, opened.exclusive():
        for session in sessions.all_sessions(opened):
            if sessions.is_gone(opened, session):
                forget(opened, session)
