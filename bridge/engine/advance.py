"""Advance a run: look at what has ended, write how far it is now, and do what is due.

    advance(store, settings, run_id) -> Run

Whoever looks may call it, as often as they like: a hook when an answer arrives, who
waits, a person. Under a lock it reads the run, takes the step, renames run.json into
place, and then does what that file says is due. A kill in between leaves that to the
next one who looks: a request's id is `run-node-visit-attempt`, and an id that was used
has been asked. Two at once wait for each other: a run, those that it calls and those
that they call have one lock, that of the first (`root`), and share its budgets. It is
taken before the store's.
"""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.engine.held_run import HeldRun
from bridge.engine.run_files import UnknownRun, folder_of, read
from bridge.engine.run_ids import LIVE
from bridge.engine.step import Used
from bridge.errors import BridgeError, StateUnavailable
from bridge.store import live_runs, wakeups
from bridge.store.lock import lock_in
from bridge.store.sessions import live_sessions
from bridge.store.switch import is_off

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.engine.asks import Definitions
    from bridge.engine.held_run import Act
    from bridge.engine.run import Run
    from bridge.store.state import State
    from bridge.store.store import Store


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
    with store.open() as opened, opened.state() as state, ExitStack() as folders:
        try:
            root = _root_of(state, run_id)
            folder = folders.enter_context(folder_of(state, root))
        except UnknownRun:
            _forget(state, run_id)
            raise
        with lock_in(folder, live_runs.LOCK, wait_s=state.lock_wait_s):
            family = Family(opened, settings, state, root, folders)
            found = family.advance(run_id, act)
        if family.has_asked:
            wakeups.wake(opened, live_sessions(opened))
    return found


def advance_all(store: Store, settings: Settings) -> None:
    """Advance every run that lives; one that cannot be is left for its user to see."""
    with store.state() as state:
        live = live_runs.live_runs(state)
    for run_id in live:
        with suppress(BridgeError):
            advance(store, settings, run_id)


class Family:
    """A run that nobody called, and all below it, under its lock.

    Attributes:
        next: runs that were told of something, still to be advanced.
        has_asked: whether a session could take something new.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        state: State,
        root: str,
        folders: ExitStack,
    ) -> None:
        self.store = store
        self.settings = settings
        self.state = state
        self.next: deque[str] = deque()
        self.has_asked = False
        self._folders = folders
        self._known: dict[str, HeldRun] = {}
        self._root_id = root

    def advance(self, run_id: str, act: Act | None) -> Run:
        """Advance a run, and whom it has told of that."""
        run = self.run(run_id)
        run.advance(act)
        while self.next:
            self.look(self.next.popleft())
        for name, each in self._known.items():
            if each.run["status"] not in LIVE:
                live_runs.unmark(self.state, name)
        return run.run

    def look(self, run_id: str, act: Act | None = None) -> None:
        """Advance another run; one that cannot be is left for its user to see."""
        try:
            self.run(run_id).advance(act)
        except StateUnavailable:
            raise
        except BridgeError:
            pass

    def run(self, run_id: str) -> HeldRun:
        """A run, read once."""
        if run_id not in self._known:
            folder = self._folders.enter_context(folder_of(self.state, run_id))
            self._known[run_id] = HeldRun(self, folder, run_id)
        return self._known[run_id]

    @property
    def root(self) -> HeldRun:
        """The run that nobody called."""
        return self.run(self._root_id)

    @cached_property
    def definitions(self) -> Definitions:
        """The definitions of the agents that are asked."""
        from bridge.engine.asks import Definitions

        return Definitions(self.settings, self.store.place.project)

    def used_by_others(self, run: Run) -> Used:
        """What the budgets of a run have to do with besides what it has asked."""
        root = self.root.run
        asked = {root["run"]: root["asked"], **root["called"]}
        tokens = 0
        if root["tokens"] is not None:
            tokens = sum(live_runs.tokens_of(self.state, each) for each in asked)
        asked.pop(run["run"], None)
        return Used(sum(asked.values()), tokens)

    def is_off(self) -> bool:
        """Whether nobody is to be asked."""
        return (
            self.root.run["status"] != "running"
            or self.settings.off
            or is_off(self.store)
        )


def _root_of(state: State, run_id: str) -> str:
    """The run that nobody called, above a run or itself."""
    if not run_id.startswith("f"):
        return run_id
    with folder_of(state, run_id) as folder:
        return read(folder, run_id, state.key())["root"]


def _forget(state: State, run_id: str) -> None:
    """Who began a run was killed before it was written, or its caller is gone."""
    if run_id not in live_runs.live_runs(state):
        return
    runs = state[live_runs.RUNS]
    with runs.folder(run_id) as folder:
        with lock_in(folder, live_runs.LOCK, wait_s=state.lock_wait_s):
            is_there = folder.has(live_runs.FILE)
            if is_there and runs.has(f"{_root_of(state, run_id)}/{live_runs.FILE}"):
                return
            live_runs.unmark(state, run_id)
    live_runs.remove(state, run_id)
