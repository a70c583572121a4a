"""Publish what became of a request that this process serves, whatever the disk does.

Only this process has the answer, and its claim keeps everybody else away: what cannot
be written now is written later, until the deadline.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError, StateUnavailable, StateVanished
from bridge.protocol.failure_codes import explain
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import Judgement, judge
from bridge.protocol.response import Response, answered, failed
from bridge.routes import REMOTE
from bridge.store.claim import expired

if TYPE_CHECKING:
    from bridge.protocol.outcome import Outcome
    from bridge.protocol.request import Request
    from bridge.routes import OwnRoute
    from bridge.store.store import Store
    from bridge.worker.heartbeat import Watch

_RETRY_WRITE_S = 0.5


@dataclass(frozen=True, slots=True)
class Publisher:
    """Publishes the outcome of one try, while `watch` says that it is wanted."""

    store: Store
    route: OwnRoute
    watch: Watch

    def publish(
        self,
        request: Request,
        outcome: Outcome,
        *,
        must_verify: bool = False,
        is_final: bool = False,
    ) -> None:
        """Publish the outcome; a failure only while the request is ours.

        After one that may pass, the request waits again, unless it `is_final`.

        Raises:
            StateVanished: the state directory was removed meanwhile.
            StateUnavailable: it could not be written before the deadline, or before
                the asker stopped waiting.
        """
        now_ms = self.store.now_ms()
        response = response_of(request, outcome, now_ms=now_ms, must_verify=must_verify)
        self._keep_reads(request, response, outcome)
        is_first = True
        while True:
            try:
                if is_first or not self._was_written(response):
                    self._write(request, response, is_final=is_final)
            except StateVanished:
                raise
            except StateUnavailable:
                if self.store.clock.monotonic_s() >= self.watch.end_s:
                    raise
            else:
                return
            is_first = False
            # Keep up the heartbeat, and notice when the asker has left.
            self.watch()
            time.sleep(_RETRY_WRITE_S)

    def _keep_reads(
        self, request: Request, response: Response, outcome: Outcome
    ) -> None:
        """Keep what an answer rests on; if that fails, it is never reused."""
        if not response.success or outcome.looks is None:
            return
        from bridge.freshness import kept_reads

        project, model = self.store.place.project, outcome.model_key
        with suppress(BridgeError, OSError), self.store.state() as state:
            kept_reads.keep(
                state, request, response, outcome.looks, project=project, model=model
            )

    def _write(self, request: Request, response: Response, *, is_final: bool) -> None:
        """Publish the response, or end the try if the request is ours."""
        if response.parsed_output is not None or (is_final and self._is_ours(request)):
            self.store.publish(response, source=self.route)
        elif not is_final:
            self.store.end_try(
                response,
                is_mine=lambda claim: claim == request.claim,
                source=self.route,
            )

    def _was_written(self, response: Response) -> bool:
        """Whether an attempt that failed had written it after all; finish it then."""
        found = self.store.find(RequestId(response.request_id))
        written = found.response if found else None
        if written is None or (written.completed_at, written.raw_output) != (
            response.completed_at,
            response.raw_output,
        ):
            return False
        self.store.sync_responses()
        with suppress(StateUnavailable):
            self.store.sweep()
        return True

    def _is_ours(self, request: Request) -> bool:
        found = self.store.find(RequestId(request.request_id))
        claim = found.request.claim if found and found.request else None
        return claim is not None and claim == request.claim


def response_of(
    request: Request, outcome: Outcome, *, now_ms: int, must_verify: bool = False
) -> Response:
    """The response that this outcome makes of a claimed request. Pure.

    With `must_verify` a success counts only if it rests on verified evidence.
    """
    model = outcome.model or request.model
    details: dict[str, Any] = {"model": model, "degraded": outcome.degraded}
    details |= {"run": outcome.run, "usage": outcome.usage}
    details |= {"served_by": outcome.served_by}
    verdict = outcome.verdict
    if outcome.code is not None:
        verdict = Judgement(code=outcome.code, complaint=outcome.detail)
    elif verdict is None:
        verdict = judge(
            request,
            outcome.words,
            calls=outcome.calls,
            now_ms=now_ms,
            must_verify=must_verify,
        )
    if verdict.code is None and outcome.left_at:
        verdict = Judgement(code="steps_left", complaint=outcome.left_at)
    code = verdict.code
    if code == "timeout":
        # Another machine had it, perhaps: the executor alone knows how far it got.
        why = outcome.detail if request.served_on == REMOTE else ""
        late = expired(request, now_ms, why=why)
        return late.with_(raw_output=outcome.words, **details)
    if code is not None and not verdict.is_valid:
        message = explain(code, verdict.detail)
        response = failed(request, code, message, now_ms=now_ms, raw=outcome.words)
        return response.with_(**details)
    return answered(
        request,
        raw=outcome.words,
        parsed=verdict.parsed,
        now_ms=now_ms,
        route=request.claim.route if request.claim else "none",
        failure=verdict.failure_at(request.stage),
    ).with_(**details)
