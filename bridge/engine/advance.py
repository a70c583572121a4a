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

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from bridge.engine.effects import EFFECTS
from bridge.engine.long_steps import LongStep, do_in_background
from bridge.engine.run_files import UnknownRun, folder_of, read
from bridge.engine.run_ids import is_called
from bridge.engine.run_tree import RunTree
from bridge.errors import BridgeError
from bridge.store import live_runs, wakeups
from bridge.store.lock import lock_in
from bridge.store.sessions import live_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.config import Settings
    from bridge.engine.run import Run
    from bridge.engine.run_tree import Act
    from bridge.store.state import State
    from bridge.store.store import Store


def advance(
    store: Store,
    settings: Settings,
    run_id: str,
    act: Act | None = None,
    *,
    reached: set[str] | None = None,
    long: list[LongStep] | None = None,
) -> Run:
    """Take a run, and those that it called or was called by, as far as they go now.

    `act` is what a person does with it first (`bridge.engine.by_hand`). To `reached`
    are added the checkpoints that any of them has come to, by the ids of their visits,
    and to `long` the steps that take long, for the caller to do. Without that a process
    is started for them.

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
            tree = RunTree(opened, settings, state, root, folders, EFFECTS)
            found = tree.advance(run_id, act)
        if reached is not None:
            reached |= tree.reached
        if tree.has_asked or tree.reached:
            wakeups.wake(opened, live_sessions(opened))
    if long is not None:
        long += tree.long
        # Nothing to do but to advance it again.
        long += [LongStep(root, "", "")] if tree.is_unfinished else []
    elif tree.long or tree.is_unfinished:
        do_in_background(store.place, root)
    return found


def advance_all(store: Store, settings: Settings) -> None:
    """Advance every run that lives; one that cannot be is left for its user to see."""
    with store.state() as state:
        live = live_runs.live_runs(state)
    for run_id in live:
        with suppress(BridgeError):
            advance(store, settings, run_id)


def _root_of(state: State, run_id: str) -> str:
    """The run that nobody called, above a run or itself."""
    if not is_called(run_id):
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
            # Its caller may be about to begin it again.
            live_runs.remove(state, run_id)


def news_of(run: Run, reached: set[str], *, since_ms: int) -> Iterator[str]:
    """What its user should know of a run since then, and of those that it has called.

    `reached` are the checkpoints that any of them has come to.
    """
    name = f"flow {run['name'] or run['run']}"
    if run["status"] == "running":
        # A flow that it called may wait; the run itself is as it was then.
        for run_id in sorted({each.partition("-")[0] for each in reached}):
            yield f"{name} waits for you: hostbridge reply {run_id}"
    elif run["at"] >= since_ms:
        how = {"completed": "is done", "failed": "failed"}.get(
            run["status"], f"is {run['status']}"
        )
        why = f" ({run['why']})" if run["why"] else ""
        yield f"{name} {how}{why}: hostbridge runs show {run['run']}"
