"""Advance a run: look at what has ended, write how far it is now, and do what is due.

    advance(store, settings, run_id) -> Run

Whoever looks may call it, as often as they like: a hook when an answer arrives, who
waits, a person. Under the run's lock it reads the run, takes the step, renames run.json
into place, and then does what that file says is due. A kill in between leaves that to
the next one who looks: a request's id is `run-node-visit-attempt`, and an id that was
used has been asked. Two at once wait for each other. Locks are taken run first, then
store; of runs, who called before who was called.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.engine import by_hand
from bridge.engine.answers import Answers
from bridge.engine.run_files import (
    UnknownRun,
    folder_of,
    read,
    read_details,
    read_plan,
    write,
)
from bridge.engine.run_ids import LIVE, request_id
from bridge.engine.step import Step
from bridge.errors import BridgeError, InvalidRequest, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.response import failed
from bridge.store import live_runs, wakeups
from bridge.store.lock import lock_in
from bridge.store.queries import find_unfinished
from bridge.store.responses import publish
from bridge.store.sessions import live_sessions
from bridge.store.state import file_of
from bridge.store.submit import FOLDERS_OF_IDS, submit
from bridge.store.switch import is_off

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.config import Settings
    from bridge.engine.asks import Definitions
    from bridge.engine.run import Command, Details, Run
    from bridge.engine.step import Fact
    from bridge.store.directory import Folder
    from bridge.store.state import State
    from bridge.store.store import Store

    Act = Callable[[Step], object]


def advance(
    store: Store, settings: Settings, run_id: str, act: Act | None = None
) -> Run:
    """Take a run, and those that it called or was called by, as far as they go now.

    `act` is what a person does with it first (`bridge.engine.by_hand`).

    Raises:
        UnknownRun: there is no such run.
        BadRun, NewerSchema: its files are not as they were written; nothing was done.
        InvalidRequest: it cannot be done with the run as it is.
        LockBusy: somebody else held it for the whole waiting time.
    """
    with store.open() as opened, opened.state() as state:
        world = _World(opened, settings, state)
        try:
            found = world.advance(run_id, act)
        except UnknownRun:
            if run_id in live_runs.live_runs(state):
                _unmark(state, run_id)
            raise
        while world.next:
            other = world.advance_next()
            if other is not None and other["run"] == run_id:
                found = other
        for each in world.ended:
            _unmark(state, each)
        if world.has_asked:
            wakeups.wake(opened, live_sessions(opened))
    return found


def advance_all(store: Store, settings: Settings) -> None:
    """Advance every run that lives; one that cannot be is left for its user to see."""
    with store.state() as state:
        live = live_runs.live_runs(state)
    for run_id in live:
        with suppress(BridgeError):
            advance(store, settings, run_id)


class _World:
    """What one call of `advance` has at hand, and what it still has to do.

    Attributes:
        next: other runs that are to be advanced, by what act, without a lock.
        ended: runs that live no more; of none if others could not be told.
        done: which runs have had done what was due, at which revision.
        has_asked: whether a session could take something new.
    """

    def __init__(self, store: Store, settings: Settings, state: State) -> None:
        self.store = store
        self.settings = settings
        self.state = state
        self.next: deque[tuple[str, Act | None]] = deque()
        self.ended: list[str] = []
        self.done: set[tuple[str, int]] = set()
        self.has_asked = False

    def advance(self, run_id: str, act: Act | None) -> Run:
        """Advance one run, under its lock."""
        state = self.state
        with folder_of(state, run_id) as folder:
            with lock_in(folder, live_runs.LOCK, wait_s=state.lock_wait_s):
                return _Held(self, folder, run_id).advance(act)

    def advance_next(self) -> Run | None:
        """Advance another run; None if it cannot be, or what is wanted is done."""
        run_id, act = self.next.popleft()
        try:
            return self.advance(run_id, act)
        except StateUnavailable:
            # Who is told of nothing has to look again: these live until then.
            self.ended.clear()
        except BridgeError:
            pass
        return None

    @cached_property
    def definitions(self) -> Definitions:
        """The definitions of the agents that are asked."""
        from bridge.engine.asks import Definitions

        return Definitions(self.settings, self.store.place.project)

    def is_off(self) -> bool:
        """Whether nobody is to be asked."""
        return self.settings.off or is_off(self.store)


class _Held:
    """A run whose lock is held."""

    def __init__(self, world: _World, folder: Folder, run_id: str) -> None:
        self.world = world
        self.folder = folder
        self.run = read(folder, run_id, world.state.key())
        self.plan = read_plan(folder, self.run)
        self.answers = Answers(world.state, self.run)
        # What could not be asked at all.
        self.refused: dict[str, Fact] = {}

    @cached_property
    def details(self) -> Details:
        """The part of the plan that is only read to ask."""
        return read_details(self.folder, self.run)

    def advance(self, act: Act | None) -> Run:
        """Take the run as far as it goes now."""
        self._do_due()
        while self._step(act):
            act = None
            self._do_due()
        return self.run

    def _step(self, act: Act | None) -> bool:
        """Take a step, and write it; False if nothing has changed."""
        run, now_ms = self.run, self.world.state.now_ms()
        is_running = run["status"] == "running"
        facts = {**self.answers.facts(self.plan), **self.refused} if is_running else {}
        is_late = is_running and now_ms >= (run["until"] or now_ms + 1)
        if not (act or facts or is_late or (is_running and run["look"])):
            return False
        made = Step(self.plan, {**run, "at": now_ms}, self.answers.truth)
        if act is not None:
            act(made)
            # What a person said is a fact, too.
            self.answers.follow(made.run)
            facts = {**self.answers.facts(self.plan), **facts}
        if made.run["status"] == "running":
            made.hear(facts)
            if is_late:
                made.halt("failed", "its time is over")
            made.lead_on()
        self.refused = {}
        # What a person has done cannot be found out again.
        self._write(made.run, durable=act is not None)
        return True

    def _write(self, run: Run, *, durable: bool) -> None:
        state, before = self.world.state, self.run
        if run["status"] in LIVE and before["status"] not in LIVE:
            live_runs.mark(state, run["run"])
        write(self.folder, run, state.key(), durable=durable)
        if run["status"] != before["status"]:
            state.note(f"run {run['status']}", run["run"], why=run["why"] or None)
        self.run = run
        self.answers.follow(run)

    def _do_due(self) -> None:
        """Do what is due. What cannot be done now stays due."""
        run = self.run
        turn = run["run"], run["rev"]
        if turn in self.world.done:
            return
        self.world.done.add(turn)
        dropped = {id_ for act, id_, _ in run["due"] if act == "cancel"}
        may_ask = run["status"] == "running" and not self.world.is_off()
        left: list[Command] = []
        for command in run["due"]:
            act, id_, _ = command
            if act in ("ask", "call") and (id_ in dropped or run["status"] not in LIVE):
                continue
            if act in ("ask", "call") and not may_ask:
                left.append(command)
                continue
            self._do(command)
        self.run = {**run, "due": left}

    def _do(self, command: Command) -> None:
        act, id_, node = command
        world = self.world
        if act == "ask":
            self._ask(id_, node)
        elif act == "call":
            self._call(id_, node)
        elif act == "cancel" and "-" not in id_:
            world.next.append((id_, by_hand.cancel))
        elif act == "cancel":
            _cancel(world.state, RequestId(id_))
        else:
            world.ended.append(id_)
            if self.run["parent"]:
                world.next.append((self.run["parent"][0], None))

    def _ask(self, asked: str, node: str) -> None:
        state = self.world.state
        if any(state[folder].has(file_of(asked)) for folder in FOLDERS_OF_IDS):
            return
        from bridge.engine.asks import request_of

        try:
            request = request_of(
                self.world.store,
                self.world.definitions,
                self.run,
                self.details,
                self.answers,
                node=node,
                request_id=asked,
                is_retried="retry" in self.plan["nodes"][node],
            )
            submit(state, request, fan_out=self.run["fanOut"])
        except StateUnavailable:
            raise
        except (BridgeError, ValueError) as exc:
            self.refused[asked] = ("error", f"{exc}")
            return
        self.world.has_asked |= request.route == "host"

    def _call(self, child: str, node: str) -> None:
        from bridge.engine.begin import begin_child

        try:
            begin_child(
                self.world.state,
                self.run,
                self.details,
                self.answers,
                node=node,
                child=child,
            )
        except InvalidRequest as exc:
            self.refused[request_id(self.run, node)] = ("error", f"{exc}")
            return
        self.world.next.append((child, None))


def _unmark(state: State, run_id: str) -> None:
    """Note that a run lives no more, unless somebody has resumed it meanwhile."""
    with state[live_runs.RUNS].folder(run_id) as folder:
        with lock_in(folder, live_runs.LOCK, wait_s=state.lock_wait_s):
            is_there = folder.has(live_runs.FILE)
            if is_there and read(folder, run_id, state.key())["status"] in LIVE:
                return
            live_runs.unmark(state, run_id)
    if not is_there:
        live_runs.remove(state, run_id)


def _cancel(state: State, asked: RequestId) -> None:
    request = find_unfinished(state, asked)
    if request is not None:
        why = "the flow that asked goes on without it"
        response = failed(request, "cancelled", why, now_ms=state.now_ms())
        publish(state, response, source="flow")
