"""Do the long steps of pipelines: programs, worktrees, changes; each under a claim."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING, Self

from bridge.engine.advance import advance, news_of
from bridge.engine.answers import Answers
from bridge.engine.asks import Texts
from bridge.engine.long_steps import claim, headless_sign
from bridge.engine.results import StepResult, has_result, put_result, read_result
from bridge.engine.run_files import folder_of, read, read_details, read_plan
from bridge.engine.run_ids import request_id
from bridge.errors import BridgeError, StateUnavailable
from bridge.policy.condition import ConditionError
from bridge.process.run import Stopped
from bridge.protocol.failure_codes import code_of
from bridge.protocol.ids import RequestId
from bridge.protocol.response import failed
from bridge.store.lock import LockBusy
from bridge.store.sessions import tell_sessions
from bridge.store.switch import is_off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.config import Settings
    from bridge.engine.long_steps import LongStep
    from bridge.store.directory import Folder
    from bridge.store.state import State
    from bridge.store.store import Store

_MOST_AT_ONCE = 8
# How long a result waits for a disk that takes none, and how often that is tried.
_KEPT_S = 600.0
_PAUSE_S = 0.2
# Of a process of its own: how long it waits for a step, and how often it tries, a
# second apart, while the state cannot be used.
_WAIT_S = 2.0
_TRIES = 30


def detached(store: Store, settings: Settings, run_id: str) -> None:
    """Do the long steps of a run, and what they lead to, until nothing is to be done.

    Called in a process of its own, which whoever advances a run in an open session has
    started. If that is killed, whoever looks next starts another.
    """
    tries_left = _TRIES
    with LongWork(store, settings) as work:
        while tries_left:
            try:
                found: list[LongStep] = []
                before, reached = store.now_ms(), set[str]()
                run = advance(store, settings, run_id, reached=reached, long=found)
                if lines := [*news_of(run, reached, since_ms=before)]:
                    # No hook has seen it.
                    tell_sessions(store, lines)
                work.take(each for each in found if each.node)
                if work.is_busy:
                    work.wait(_WAIT_S)
                elif not found:
                    return
                tries_left = _TRIES
            except StateUnavailable:
                tries_left -= 1
                time.sleep(1.0)


class LongWork:
    """Does long steps, several at once. Use it as a context manager.

    On leaving, what still runs is stopped, and left to whoever looks next.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._on_end = on_end
        self._settings = settings
        self._is_left = Event()
        self._doing: dict[LongStep, Future[bool]] = {}
        self._pool = ThreadPoolExecutor(_MOST_AT_ONCE, "hostbridge-steps")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_left.set()
        self._pool.shutdown(cancel_futures=True)

    @property
    def is_busy(self) -> bool:
        """Whether any step is being done."""
        return bool(self._doing)

    def take(self, steps: Iterable[LongStep]) -> None:
        """Begin to do steps, but for those that are being done."""
        for step in steps:
            if step not in self._doing:
                doing = self._doing[step] = self._pool.submit(self._do, step)
                doing.add_done_callback(lambda _: self._on_end())

    def wait(self, most_s: float) -> bool:
        """Wait until a step has ended; False if none has by then.

        Raises:
            StateUnavailable: a result could not be written.
        """
        done, _ = wait([*self._doing.values()], most_s, FIRST_COMPLETED)
        for step in [each for each, future in self._doing.items() if future in done]:
            self._doing.pop(step).result()
        return bool(done)

    def _do(self, step: LongStep) -> bool:
        return do_step(self._store, self._settings, step, is_left=self._is_left.is_set)


def do_step(
    store: Store,
    settings: Settings,
    step: LongStep,
    *,
    is_left: Callable[[], bool] = lambda: False,
) -> bool:
    """Do a step to its end; False if it is done, or somebody else does it.

    Raises:
        StateUnavailable: its result could not be written.
    """
    with store.state() as state, folder_of(state, step.run) as folder:
        try:
            claimed = claim(folder, step.asked)
        except LockBusy:
            return False
        with claimed:
            if folder.has(headless_sign(step.asked)):
                return _serve(store, settings, step, is_left)
            # One that is not as it was written is as good as none.
            if read_result(state, step.run, step.asked) is not None:
                return False

            def should_stop() -> bool:
                is_cancelled = (
                    has_result(state, step.run, step.asked)
                    and read_result(state, step.run, step.asked) is not None
                )
                return is_left() or is_cancelled or settings.off or is_off(store)

            result = _result(state, store, folder, step, should_stop)
            if result is None:
                return False
            return _put(state, step, result, is_left)


def _put(
    state: State, step: LongStep, result: StepResult, is_left: Callable[[], bool]
) -> bool:
    """Keep a result; while the disk takes none, what was done is not done again."""
    until_s = time.monotonic() + _KEPT_S
    while True:
        try:
            return put_result(state, step.run, step.asked, result)
        except FileNotFoundError:
            raise
        except OSError:
            if is_left() or time.monotonic() >= until_s:
                raise
            time.sleep(_PAUSE_S)


def _serve(
    store: Store, settings: Settings, step: LongStep, is_left: Callable[[], bool]
) -> bool:
    """Have a headless agent answer."""
    from bridge.routes import check_own
    from bridge.worker.executors import open_worker

    known = RequestId(step.asked)
    request = store.find_unfinished(known)
    if request is None:
        return False
    try:
        worker = open_worker(store, settings, check_own(request.route))
        return worker.see_through(known, is_left=is_left)
    except StateUnavailable:
        raise
    except BridgeError as exc:
        end = failed(request, code_of(exc), exc.what, now_ms=store.now_ms())
        store.publish(end, source="pipeline")
        return True


def _result(
    state: State,
    store: Store,
    folder: Folder,
    step: LongStep,
    should_stop: Callable[[], bool],
) -> StepResult | None:
    """What a step comes to; None if it is not to be done any more, or was stopped."""
    run = read(folder, step.run, state.key())
    if step.node not in run["open"] or request_id(run, step.node) != step.asked:
        return None
    kind = read_plan(folder, run)["nodes"][step.node]["kind"]
    details = read_details(folder, run)
    texts = Texts(run, details, Answers(state, run))
    detail = details["details"][step.node]
    try:
        if kind == "exec":
            from bridge.worker.exec_step import run_program

            return run_program(store.place, texts, detail["exec"], step, should_stop)
        if kind == "change":
            from bridge.worker.change_step import read_for_run

            return read_for_run(store.place, texts, detail["change"], should_stop)
        from bridge.worker.worktree_step import do_worktree

        return do_worktree(store.place, texts, detail["worktree"], should_stop)
    except StateUnavailable:
        raise
    except Stopped:
        return None
    except ConditionError as exc:
        return _error(exc.message)
    except (BridgeError, OSError, ValueError) as exc:
        return _error(str(exc) or type(exc).__name__)


def _error(why: str) -> StepResult:
    return {"how": "error", "why": why, "output": None}
