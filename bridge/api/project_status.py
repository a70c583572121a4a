"""The state of a project at this moment, for `hostbridge status`.

The cost does not grow with the finished requests, and hardly with the waiting ones: of
ten thousand the first few are read, the others counted. Takes no lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.api.live_requests import EXCERPT_CHARS, LiveRequest, live_request
from bridge.api.runs_now import LiveRun, runs_now
from bridge.config import Settings
from bridge.errors import BridgeError, NewerSchema
from bridge.host.waits import Around
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.request import Request
from bridge.protocol.status import FINAL
from bridge.protocol.wording import one_line
from bridge.store import cleaning, journal, queries, sessions, switch, wakeups
from bridge.store.charges import EVENT as USAGE
from bridge.store.charges import final_usage
from bridge.store.cleaning import Cleaned
from bridge.store.clock import uptime
from bridge.store.directory import Folder
from bridge.store.host_process import liveness
from bridge.store.queries import MAX_ASKED, Ranks, in_order
from bridge.store.sessions import Session
from bridge.store.state import State
from bridge.store.store import Store
from bridge.store.switch import Off

if TYPE_CHECKING:
    from bridge.bound.budgets import Use
    from bridge.worktrees.leftovers import Leftover

SHOWN_WAITING = 20
SHOWN_ENDED = 5
# How many lines of the journal are read to find what ended last.
_LINES_READ = 500


class OpenSession(NamedTuple):
    """One open session: `seen` is alive, or unseen in another PID namespace.

    It has started `started` agents within an hour, of `agents_per_hour`; `budgets` are
    all of its budgets, and of `untold` agents the client told no tokens. `off_s` says
    for how many seconds it has been off, if it was switched off by itself.
    `wakes_at_once` where somebody waits for a ring: not while a turn runs.
    """

    session_id: str
    pid: int
    seen: str
    wakes: bool
    wakes_at_once: bool
    is_off: bool
    running: int
    slots: int
    cwd: str
    started: int
    agents_per_hour: int
    budgets: tuple[Use, ...]
    untold: int
    off_s: float | None


class EndedRequest(NamedTuple):
    """One request that has ended; `code` is None for a success.

    `tokens` are those that count against budgets, None if nobody told; `model` is the
    one that answered, or the one asked for.
    """

    request_id: str
    status: str
    code: str | None
    agent: str
    ago_s: float
    duration_s: float
    excerpt: str
    tokens: int | None = None
    model: str | None = None
    route: str = ""


class TaskCounts(NamedTuple):
    """How many tasks are in which status; `problem` is why they cannot be read."""

    open: int = 0
    in_progress: int = 0
    needs_review: int = 0
    escalated: int = 0
    closed: int = 0
    problem: str | None = None


class Overview(NamedTuple):
    """The project at one moment; `requests` are those claimed and the first waiting.

    `tasks` is None where there have never been any.
    `is_off` is set by `hostbridge off`, `off_s` seconds ago; `is_off_here` by the
    caller's environment.
    Without a state directory (`exists` False) nothing was ever asked here. `unreadable`
    are the ids of waiting files that cannot be read. Where no session is open,
    `dropped` says why none would have our hooks. `worktrees` are those of runs that
    have ended. `cleaned` is the last time that old records were removed by themselves.
    """

    project: str
    state: str
    exists: bool
    is_off: bool
    is_off_here: bool
    sessions: tuple[OpenSession, ...] = ()
    requests: tuple[LiveRequest, ...] = ()
    unreadable: tuple[str, ...] = ()
    claimed: int = 0
    waiting: int = 0
    ended: int = 0
    last: tuple[EndedRequest, ...] = ()
    off_s: float | None = None
    runs: tuple[LiveRun, ...] = ()
    tasks: TaskCounts | None = None
    dropped: str | None = None
    worktrees: tuple[Leftover, ...] = ()
    cleaned: Cleaned | None = None


def overview(store: Store, settings: Settings) -> Overview:
    """Look at the project once; creates nothing."""
    project, path = str(store.place.owner), str(store.place.state)
    is_there = store.exists()
    live = sessions.live_sessions(store) if is_there else []
    dropped = None if live else _find_dropped(store, settings)
    if not is_there:
        return Overview(
            project,
            path,
            exists=False,
            is_off=False,
            is_off_here=settings.off,
            dropped=dropped,
        )
    off = switch.switched_off(store)
    on = [s for s in live if s.session_id not in off]
    now_ms = store.now_ms()
    tasks = _tasks(store)
    with store.state() as state:
        ended = set(state["responses"].names())

        def is_over(name: str) -> bool:
            # Not cleaned up yet: perhaps somebody else has the lock.
            return name in ended and state.is_answered(name)

        claimed = [r for r in queries.all_claimed(state) if not is_over(r.request_id)]
        names = [name for name in state["requests"].names() if not is_over(name)]
        first = islice(in_order(names, Ranks(state, most=MAX_ASKED)), SHOWN_WAITING)
        waiting = [request for name in first if (request := state.find_waiting(name))]
        around = Around(
            live, on, claimed, uptime(state.clock), state.now_ms(), off.is_everything
        )
        return Overview(
            project,
            path,
            exists=True,
            is_off=off.is_everything,
            is_off_here=settings.off,
            sessions=tuple(
                _open_session(s, claimed, settings, off, state) for s in live
            ),
            requests=tuple(
                live_request(store, state, r, around) for r in (*claimed, *waiting)
            ),
            unreadable=tuple(sorted(state.unread)),
            claimed=len(claimed),
            waiting=len(names),
            ended=len(ended),
            last=tuple(islice(_last_ended(state), SHOWN_ENDED)),
            off_s=off.age_s(now_ms),
            runs=tuple(runs_now(store, state, settings)),
            tasks=tasks,
            dropped=dropped,
            worktrees=_worktrees(store),
            cleaned=cleaning.last(store),
        )


def _find_dropped(store: Store, settings: Settings) -> str | None:
    from bridge.host.user_rules import settings_files

    project = store.place.project
    if not any(map(os.path.lexists, settings_files(settings.claude_dir, project))):
        return None
    from bridge.host.install import find_dropped

    return find_dropped(settings, project)


def _worktrees(store: Store) -> tuple[Leftover, ...]:
    """Where there are none, nothing is loaded."""
    if not os.path.lexists(f"{store.place.state}/worktrees"):
        return ()
    from bridge.worktrees.leftovers import leftovers

    return tuple(leftovers(store))


def _tasks(store: Store) -> TaskCounts | None:
    """Without tasks SQLite is not loaded; a lock is waited for only a moment."""
    if not os.path.lexists(f"{store.place.state}/tasks.db"):
        return None
    from bridge.tasks.tasks import Tasks

    try:
        counts: dict[str, Any] = {**Tasks(store.until(-inf)).counts()}
        return TaskCounts(**counts)
    except BridgeError as exc:
        return TaskCounts(problem=exc.what)


def _open_session(
    session: Session, claimed: list[Request], settings: Settings, off: Off, state: State
) -> OpenSession:
    from bridge.bound.budgets import limits_of, uses_of

    limits = session.limits or limits_of(settings)
    uses = uses_of(session.with_(limits=limits), uptime(state.clock))
    (an_hour,) = (use for use in uses if use.key == "agents_per_hour")
    held = (r.claim for r in claimed if r.claim and r.claim.host == session.host)
    return OpenSession(
        session_id=session.session_id,
        pid=session.host.pid,
        seen=liveness(session.host).value,
        wakes=session.wakes,
        wakes_at_once=wakeups.is_heard(state, session.host),
        is_off=session.session_id in off,
        running=sum(claim.launched_at is not None for claim in held),
        slots=limits.slots,
        cwd=session.cwd,
        started=an_hour.used,
        agents_per_hour=an_hour.most,
        budgets=tuple(uses),
        untold=session.spending.not_told(),
        off_s=off.age_s(state.now_ms(), session.session_id),
    )


def _last_ended(state: State) -> Iterator[EndedRequest]:
    """What ended last, newest first; found in the journal, read from the records."""
    for request_id, told in _ended_ids(state.directory):
        with suppress(NewerSchema):
            response = state.response(request_id)
            if response is None:
                continue
            request = state.ended(request_id)
            usage = final_usage(response, told)
            yield EndedRequest(
                request_id=request_id,
                status=str(response.status),
                code=response.error.code if response.error else None,
                agent=request.agent_type if request else "",
                ago_s=(state.now_ms() - response.completed_at) / 1000,
                duration_s=response.duration / 1000,
                excerpt=one_line(request.prompt, EXCERPT_CHARS) if request else "",
                tokens=usage.tokens if usage else None,
                model=response.model,
                route=response.route,
            )


def _ended_ids(state: Folder) -> Iterator[tuple[RequestId, list[dict[str, Any]]]]:
    """What the end of the journal says has ended, newest first, each once.

    Beside each id are the lines that tell what it took, oldest first.
    """
    seen: set[str] = set()
    told: dict[str, list[dict[str, Any]]] = {}
    for event in journal.newest_lines(state, _LINES_READ):
        request_id = str(event.get("requestId"))
        if event.get("event") == USAGE:
            told.setdefault(request_id, []).insert(0, event)
        is_end = str(event.get("event")) in FINAL and is_id(request_id)
        if is_end and request_id not in seen:
            seen.add(request_id)
            yield RequestId(request_id), told.get(request_id, [])
