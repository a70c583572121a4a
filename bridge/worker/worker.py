"""Serve a request in this process: claim it, have it answered, publish how it ended.

The record on disk is the host route's: one claim, one sealed response, the same check
of the answer. A kill at any moment leaves a claim whose process is gone: the request
waits again, and ends by its deadline at the latest.
"""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.agents.resolve import filled_in
from bridge.api.upkeep import TEND_S, Abandoned
from bridge.errors import (
    BridgeError,
    StateUnavailable,
    StateVanished,
    UnknownAgent,
    WaitTimeout,
)
from bridge.protocol.executor import Outcome
from bridge.protocol.failure_codes import MEANINGS
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import Verdict, judge
from bridge.protocol.response import Failure, answered, failed
from bridge.protocol.status import Stage
from bridge.store import Claimant
from bridge.store.host_process import identify
from bridge.store.lifecycle import expired
from bridge.worker.heartbeat import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.agents.definition import Definition
    from bridge.api.wait_for_answers import Waiter
    from bridge.protocol.executor import Executor, Progress
    from bridge.protocol.request import Request
    from bridge.protocol.response import Response
    from bridge.routes import OwnRoute
    from bridge.store.store import Store

# How soon to try again to write an answer that could not be written.
_WRITE_AGAIN_S = 0.5
# While somebody else has the request: how often to see whether it waits again. Long
# enough for the waiter to take it back from the dead.
_TRY_AGAIN_S = 1.25 * TEND_S


class Server:
    """Serves requests of one route, one at a time.

    Args:
        store: one that may wait for its lock: an answer must not be lost to it.
        route: which route the executor is.
        define: the request as its agent's definition has it, and the definition.
        max_depth: how many agents may stand above a request.
        on_stage: told now and then that a request runs; what it raises ends the work.
        on_progress: told how far the executor is.
    """

    def __init__(
        self,
        store: Store,
        route: OwnRoute,
        executor: Executor,
        *,
        define: Callable[[Request], tuple[Request, Definition | None]],
        max_depth: int,
        on_stage: Callable[[Stage], None],
        on_progress: Callable[[Progress], None],
    ) -> None:
        host = identify(os.getpid())
        assert host is not None, "this process runs"  # noqa: S101
        self.route = route
        self.claimant = Claimant(f"{route}-{host.pid}", host, route)
        self._store = store
        self._executor = executor
        self._define = define
        self._max_depth = max_depth
        self._on_stage = on_stage
        self._on_progress = on_progress

    def serve(self, request_id: RequestId, *, until_s: float = math.inf) -> bool:
        """See a request that waits to its end; False when it does not (any more).

        At `until_s`, on the monotonic clock, it is given back if it is not answered.
        An interrupt leaves the claim: the caller ends the request, or gives it back.
        What is raised but a BridgeError is a bug of ours: the request has ended, with
        `agent_error`.

        Raises:
            StateUnavailable: the answer could not be written until the deadline.
        """
        request = self._store.claim_one(request_id, self.claimant)
        if request is None:
            return False
        deadline_s = self._deadline_s(request)
        watch = Watch(
            self._store,
            request,
            self._on_stage,
            deadline_s=deadline_s,
            until_s=until_s,
        )
        try:
            if request.depth > self._max_depth:
                detail = f"{request.depth}; {self._max_depth} is the limit"
                self._end(request, Outcome(code="depth", detail=detail), watch)
            else:
                self._on_stage(Stage.RUNNING)
                self._see_to_its_end(request, watch)
        except BridgeError:
            raise
        except Exception as exc:
            # A bug. Never a claim without anybody at work.
            self._end(request, Outcome(code="agent_error", detail=repr(exc)), watch)
            raise
        finally:
            watch.forget()
        return True

    def _see_to_its_end(self, request: Request, watch: Watch) -> None:
        """Have a claimed request answered, and publish what came of it."""
        try:
            request, definition = self._defined(request)
            outcome = self._executor.answer(
                request,
                definition,
                deadline_s=watch.end_s,
                on_progress=self._on_progress,
                should_stop=watch,
            )
        except Abandoned:
            raise
        except StateUnavailable:
            # A disk just full, say: no fault of the request's. It waits again.
            self._let_go(request)
            raise
        except UnknownAgent as exc:
            self._end(request, Outcome(code="agent_missing", detail=str(exc)), watch)
            return
        except BridgeError as exc:
            self._end(request, Outcome(code="AGENT_001", detail=str(exc)), watch)
            return
        if not _is_answer(outcome) and watch.is_given_up:
            # Another asker's, with more time: it waits for whoever serves it next.
            self._let_go(request)
            return
        if watch.is_off:
            outcome = replace(
                outcome, code="agent_stopped", detail="hostbridge was switched off"
            )
        if outcome.words or not watch.has_ended:
            must_verify = (
                definition is not None and definition.require_verified_evidence
            )
            self._end(request, outcome, watch, must_verify=must_verify)

    def _defined(self, request: Request) -> tuple[Request, Definition | None]:
        """The request as its agent's definition has it now, noted on the record."""
        asked, definition = self._define(request)
        if asked == request:
            return request, definition
        held = self._store.change_held(
            RequestId(request.request_id),
            self.claimant.host,
            lambda held: filled_in(held, asked),
        )
        return held or asked, definition

    def see_to(
        self,
        request_id: RequestId,
        waiter: Waiter,
        *,
        after_s: float,
        timeout_s: float,
    ) -> Response:
        """The response of a request that is served here if nobody else has it.

        Others have `after_s` seconds to take it. The claim decides: one of them only
        serves it.

        Raises:
            WaitTimeout: `timeout_s` seconds passed; the request is left as it was.
            StateVanished: the request is gone, with its state directory.
        """
        clock = self._store.clock
        until_s = clock.monotonic_s() + timeout_s
        patience_s = after_s
        while True:
            left_s = max(0.0, until_s - clock.monotonic_s())
            try:
                return waiter.one(request_id, min(patience_s, left_s))
            except WaitTimeout:
                if clock.monotonic_s() >= until_s:
                    raise
            try:
                self.serve(request_id, until_s=until_s)
            except StateVanished:
                raise
            except StateUnavailable:
                # It waits again, for as long as its asker does.
                pass
            if self._store.find(request_id) is None:
                # We make the directory anew; to wait for what was in it is in vain.
                raise StateVanished(
                    f"request {request_id} has vanished: {self._store.place.state} was "
                    "removed while it was served"
                )
            patience_s = _TRY_AGAIN_S

    def _deadline_s(self, request: Request) -> float:
        left_ms = request.deadline_ms - self._store.now_ms()
        return self._store.clock.monotonic_s() + left_ms / 1000

    def _end(
        self,
        request: Request,
        outcome: Outcome,
        watch: Watch,
        *,
        must_verify: bool = False,
    ) -> None:
        """End the request; with a failure only while it is ours to fail.

        Where that cannot be written it is tried again until the deadline, or until
        whoever asked waits no longer: the answer is in this process only, and its claim
        would keep everybody else away.
        """
        now_ms = self._store.now_ms()
        response = response_of(request, outcome, now_ms=now_ms, must_verify=must_verify)
        is_first = True
        while True:
            try:
                if is_first or not self._was_written(response):
                    self._write(request, response)
            except StateVanished:
                raise
            except StateUnavailable:
                if self._store.clock.monotonic_s() >= watch.end_s:
                    self._let_go(request)
                    raise
            else:
                return
            is_first = False
            # The process lives on, and whoever asked may not want to wait for this.
            watch()
            time.sleep(_WRITE_AGAIN_S)

    def _write(self, request: Request, response: Response) -> None:
        """Publish the response, or keep its words where the request is not ours."""
        if response.parsed_output is None and not self._is_ours(request):
            if response.raw_output:
                reason = response.error.code if response.error else ""
                self._store.keep_evidence(
                    request.request_id,
                    reason=f"{reason}, but somebody else has the request now",
                    source=self.route,
                    words=response.raw_output,
                )
            return
        self._store.publish(response, source=self.route)

    def _let_go(self, request: Request) -> None:
        with suppress(StateUnavailable):
            self._store.give_back(
                RequestId(request.request_id), self.claimant.host, lambda held: held
            )

    def _was_written(self, response: Response) -> bool:
        """Whether a try that failed had written it: then what is left is done here."""
        found = self._store.find(RequestId(response.request_id))
        there = found.response if found else None
        if there is None or (there.completed_at, there.raw_output) != (
            response.completed_at,
            response.raw_output,
        ):
            return False
        with self._store.state() as state:
            state["responses"].sync()
        with suppress(StateUnavailable):
            self._store.sweep()
        return True

    def _is_ours(self, request: Request) -> bool:
        found = self._store.find(RequestId(request.request_id))
        claim = found.request.claim if found and found.request else None
        return claim is not None and claim == request.claim


def _is_answer(outcome: Outcome) -> bool:
    return outcome.code is None and (
        outcome.verdict is None or outcome.verdict.is_valid
    )


def response_of(
    request: Request, outcome: Outcome, *, now_ms: int, must_verify: bool = False
) -> Response:
    """How a claimed request ends with this outcome. Pure.

    `must_verify` is whether a success counts only with evidence that was verified.
    """
    model = outcome.model or request.model
    told = {"model": model, "degraded": outcome.degraded, "run": outcome.run}
    if outcome.code == "timeout":
        late = expired(request, now_ms)
        return late.with_(raw_output=outcome.words, **told)
    verdict = _verdict(request, outcome, now_ms=now_ms, must_verify=must_verify)
    code, detail = verdict.code, verdict.complaint
    if code is not None and not verdict.is_valid:
        message = MEANINGS[code] + (f": {detail}" if detail else "")
        response = failed(request, code, message, now_ms=now_ms, raw=outcome.words)
        return response.with_(**told)
    failure = code and Failure(code=code, message=detail, stage=request.stage)
    return answered(
        request,
        raw=outcome.words,
        parsed=verdict.parsed,
        now_ms=now_ms,
        route=request.claim.route if request.claim else "none",
        failure=failure or None,
    ).with_(**told)


def _verdict(
    request: Request, outcome: Outcome, *, now_ms: int, must_verify: bool
) -> Verdict:
    """What the words are worth: as the executor says, or as they are judged here."""
    if outcome.code is not None:
        return Verdict(code=outcome.code, complaint=outcome.detail)
    return outcome.verdict or judge(
        request,
        outcome.words,
        calls=outcome.calls,
        now_ms=now_ms,
        must_verify=must_verify,
    )
