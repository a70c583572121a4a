"""Serve a request in this process: claim it, have it answered, publish the outcome.

The records are those of the host route: one claim, one sealed response, the same check
of the answer. If this process is killed, its claim names a process that is gone: the
request waits again, and ends by its deadline at the latest.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from bridge.agents.apply import filled_in
from bridge.bound.budgets import find_spent
from bridge.errors import BridgeError, StateUnavailable, StateVanished
from bridge.protocol.failure_codes import code_of
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import Judgement
from bridge.protocol.outcome import Control, Outcome, Progress
from bridge.protocol.question import blocked_by
from bridge.protocol.request import Request
from bridge.protocol.status import Stage, ignore
from bridge.routes import OwnRoute
from bridge.store import Claimant
from bridge.store.charges import note_in_run, settle
from bridge.store.clock import uptime
from bridge.store.host_process import identify
from bridge.store.sessions import Session, find_session, note_launch
from bridge.store.store import Store
from bridge.store.switch import is_off
from bridge.worker.asking import QuestionRelay
from bridge.worker.heartbeat import Watch
from bridge.worker.publisher import Publisher, response_of

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

    Define = Callable[[Request], tuple[Request, Definition | None]]

# Between two tries: how often to look whether the request is still wanted.
_LOOK_S = 0.25
_OFF = Outcome(code="agent_stopped", detail="hostbridge was switched off")


class Executor(Protocol):
    """Answers one request after another, each in a process that can be killed."""

    def answer(
        self, request: Request, definition: Definition | None, control: Control
    ) -> Outcome:
        """Answer one request; `definition` is its agent's, if that has one.

        On return, and on any exception (an interrupt), nothing that was started is
        left.

        Raises:
            BridgeError: the agent's definition cannot be used (bad_definition).
        """


@dataclass
class Worker:
    """Serves requests of one route, one at a time.

    Attributes:
        store: one that waits for its lock: a busy lock must not cost an answer.
        route: the route that `executor` serves.
        executor: answers the requests.
        define: returns a request with its definition applied, and the definition.
        max_depth: how many agents may stand above a request.
        on_stage: called now and then while a request runs; what it raises ends the
            work.
        on_progress: receives the executor's progress.
        session: the session that this process runs under, whose budgets it obeys.
        charged: the store that has that session's record; None: the same store.
        hold_s: how long an agent that asks is held for the reply, in seconds.
    """

    store: Store
    route: OwnRoute
    executor: Executor
    define: Define
    max_depth: int
    on_stage: Callable[[Stage], None] = ignore
    on_progress: Callable[[Progress], None] = ignore
    session: Session | None = None
    charged: Store | None = None
    hold_s: float = math.inf
    _tokens: int | None = None

    @cached_property
    def claimant(self) -> Claimant:
        """This process, as the one that holds a request."""
        host = identify(os.getpid())
        assert host is not None, "this process runs"  # noqa: S101
        return Claimant(f"{self.route}-{host.pid}", host, self.route)

    def serve(self, request_id: RequestId, *, until_s: float = math.inf) -> bool:
        """Serve a waiting request to its end; False if it is not waiting any more.

        If the try fails for a reason that may pass, the request waits again. While
        hostbridge is switched off nothing is started: a request that waits ends. It is
        given back if there is no answer at `until_s`, on the monotonic clock. An
        interrupt leaves the claim, and so does what a callback raises that is no
        `Exception`: the caller ends the request, or gives it back. Any
        exception but a BridgeError is a bug: it ends the request with `agent_error`.

        Raises:
            StateUnavailable: the answer could not be written before the deadline.
        """
        with self.store.open() as store:
            off = is_off(store)
            request = None if off else store.claim_one(request_id, self.claimant)
        if off:
            return self._end_unserved(request_id)
        if request is None:
            return False
        left_ms = request.deadline_ms - self.store.now_ms()
        watch = Watch(
            self.store,
            request,
            self.on_stage,
            deadline_s=self.store.clock.monotonic_s() + left_ms / 1000,
            until_s=until_s,
        )
        try:
            if request.depth > self.max_depth:
                detail = f"{request.depth}; {self.max_depth} is the limit"
                self._end(request, Outcome(code="depth", detail=detail), watch)
            elif spent := self._begin(request, left_ms):
                self._end(request, Outcome(code="budget", detail=spent), watch)
            else:
                self.on_stage(Stage.RUNNING)
                self._answer(request, watch)
        except BridgeError:
            raise
        except Exception as exc:
            # Do not leave a claim behind that nobody works on; and do not try it again.
            bug = Outcome(code="agent_error", detail=repr(exc))
            self._end(request, bug, watch, is_final=True)
            raise
        finally:
            watch.stop()
            settle(self.charged or self.store, _call(request), self._tokens)
        return True

    def _end_unserved(self, request_id: RequestId) -> bool:
        """End a request that waits, as a running one ends when the switch is turned."""
        request = self.store.find_unfinished(request_id)
        if request is None or request.claim is not None:
            return False
        ended = response_of(request, _OFF, now_ms=self.store.now_ms())
        return self.store.publish(ended, source=self.route)

    def _begin(self, request: Request, left_ms: int) -> str:
        """Count the agent against the session's budgets; or else why it may not run.

        One that a rule has started is counted already.
        """
        self._tokens = None
        mine, store = self.session, self.charged or self.store
        known = mine and find_session(store, mine.session_id, mine.host)
        if known is None or _call(request) in known.spending.charges:
            return ""
        limit = find_spent(known, uptime(store.clock))
        if limit is not None:
            return f"{limit.why}; more now: {limit.cure}"
        note_launch(store, known, _call(request), left_ms=max(0, left_ms))
        return ""

    def see_through(
        self, request_id: RequestId, *, is_left: Callable[[], bool] = lambda: False
    ) -> bool:
        """As `serve`, and again when its next try may begin, to the end of the request.

        It stops between two tries when `is_left` says so, or somebody else has it.
        """
        served = self.serve(request_id)
        while (paused := self._find_paused(request_id)) is not None:
            if is_left():
                break
            self.on_stage(Stage.ASKING if paused.asks else Stage.PAUSED)
            left_s = ((paused.due_ms or 0) - self.store.now_ms()) / 1000
            time.sleep(min(max(left_s, _LOOK_S / 5), _LOOK_S))
            self.serve(request_id)
        return served

    def _find_paused(self, request_id: RequestId) -> Request | None:
        """The request, if it waits for its next try, or for a reply to its agent."""
        found = self.store.find_unfinished(request_id)
        if found is not None and found.asks is not None:
            found = self.store.take_reply(request_id)
        is_waiting = (
            found is not None
            and found.claim is None
            and (found.failures or found.asks or found.exchanges)
        )
        return found if is_waiting else None

    def give_back(self, request_id: RequestId) -> None:
        """Let a request that this process holds wait again, if that can be written."""
        with suppress(StateUnavailable):
            self.store.give_back(request_id, self.claimant.host)

    def _answer(self, request: Request, watch: Watch) -> None:
        """Have a claimed request answered, and publish the outcome."""
        request_id = RequestId(request.request_id)
        asking = QuestionRelay(
            self.store, request_id, self.claimant.host, watch, hold_s=self.hold_s
        )
        control = Control(watch.end_s, self.on_progress, watch, asking)
        try:
            request, definition, outcome = self._executed(request, control)
        except StateUnavailable:
            # Not the request's fault (a full disk, say): it waits again.
            self.give_back(request_id)
            raise
        except BridgeError as exc:
            self._end(request, Outcome(code=code_of(exc), detail=exc.what), watch)
            return
        if asking.for_run is not None:
            verdict = Judgement(
                blocked_by(asking.for_run), "agent_blocked", asking.for_run.words
            )
            outcome = replace(outcome, code=None, verdict=verdict)
        elif request.may_ask and (asks := asking.open_request()) is not None:
            if self.store.clock.monotonic_s() < watch.end_s and not watch.is_off:
                # It waits for the reply, and holds up nobody.
                self.give_back(request_id)
                return
            request = asks
            if not watch.is_off:
                outcome = replace(outcome, code="timeout", verdict=None)
        if not _is_answer(outcome) and watch.is_given_up:
            # The request has more time than its asker here: somebody else may serve it.
            self.give_back(request_id)
            return
        if watch.is_off:
            outcome = replace(outcome, code=_OFF.code, detail=_OFF.detail)
        if outcome.words or not watch.has_ended:
            must_verify = (
                definition is not None and definition.require_verified_evidence
            )
            self._end(request, outcome, watch, must_verify=must_verify)

    def _executed(
        self, waiting: Request, control: Control
    ) -> tuple[Request, Definition | None, Outcome]:
        """The request with its definition, which is returned too, and the outcome."""
        request, definition = self._defined(waiting)
        outcome = self.executor.answer(request, definition, control)
        if request.context_from is not None:
            # The user's yes may have been taken back meanwhile.
            self.define(waiting)
        return request, definition, outcome

    def _defined(self, request: Request) -> tuple[Request, Definition | None]:
        """Apply the definition as it is now, and write that into the record."""
        asked, definition = self.define(request)
        if asked == request:
            return request, definition
        held = self.store.change_held(
            RequestId(request.request_id),
            self.claimant.host,
            lambda held: filled_in(held, asked),
        )
        return held or asked, definition

    def _end(
        self,
        request: Request,
        outcome: Outcome,
        watch: Watch,
        *,
        must_verify: bool = False,
        is_final: bool = False,
    ) -> None:
        """Publish the outcome, and count what it took; as `Publisher.publish`."""
        self._tokens = outcome.usage.tokens if outcome.usage else None
        call = f"{request.request_id}.{len(request.failures)}"
        note_in_run(self.store, request.request_id, call, self._tokens)
        publisher = Publisher(self.store, self.route, watch)
        try:
            publisher.publish(
                request, outcome, must_verify=must_verify, is_final=is_final
            )
        except StateVanished:
            raise
        except StateUnavailable:
            self.give_back(RequestId(request.request_id))
            raise


def _call(request: Request) -> str:
    """By which a budget knows this try: each is an agent of its own."""
    tries = len(request.failures)
    return f"{request.request_id}.{tries}" if tries else request.request_id


def _is_answer(outcome: Outcome) -> bool:
    return outcome.code is None and (
        outcome.verdict is None or outcome.verdict.is_valid
    )
