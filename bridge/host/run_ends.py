"""How an agent's run ends: its answer or failure is published, its slot is free.

What it took is in the response, in its budgets, and in the run of a flow.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import StateUnavailable
from bridge.host import agent_usage
from bridge.host.context import HookContext
from bridge.host.waiting import look_soon
from bridge.protocol.claim import Claim
from bridge.protocol.failure_codes import FailureCode, explain
from bridge.protocol.ids import RequestId
from bridge.protocol.names import MODEL_NAMES
from bridge.protocol.question import asks_words
from bridge.protocol.request import Request
from bridge.protocol.response import Response, answered, failed
from bridge.protocol.usage import Usage
from bridge.protocol.wording import one_line
from bridge.store import idle_agents, subagent_runs
from bridge.store.charges import note_in_run
from bridge.store.subagent_runs import AgentRun

if TYPE_CHECKING:
    from bridge.protocol.judge import Judgement


REPLACED = "see `hostbridge doctor` for hooks that rewrite Agent calls"
RECEIPT = "hostbridge delivered this answer to the program that asked."


def publish(
    hook: HookContext,
    run: AgentRun,
    request: Request,
    words: str,
    verdict: Judgement,
    source: str,
) -> None:
    """Publish the words of an agent as its answer, with what is wrong with them."""
    response = answered(
        request,
        raw=words,
        parsed=verdict.parsed,
        now_ms=hook.now_ms(),
        route="host",
        failure=verdict.failure_at(request.stage),
        agent_id=run.agent_id,
    )
    if request.model not in (None, *MODEL_NAMES):
        # The client's Agent tool takes no other: the session's own model answered.
        response = response.with_(model=None, degraded=True)
    is_asked_once = hook.session.one_shot or request.is_temporary or run.is_fork
    if serves(run, request) and not is_asked_once:
        # First: whoever reads the answer may ask on at once.
        note_idle(hook, run, request)
    response, tokens = _with_usage(hook, run, request, response)
    hook.store.publish(response, source=source)
    # Whoever asked does not wait for that, nor for what it imports; while the run is on
    # record, it is under way.
    from bridge.host.answer_reads import keep_reads

    keep_reads(hook, run, request, response)
    _free(hook, run, tokens)


def note_idle(
    hook: HookContext, run: AgentRun, request: Request, *, asks: bool = False
) -> None:
    """Its agent may be asked again; without that note, a new one is."""
    session = hook.session.session_id
    if run.agent_id and run.session == session:
        project = str(hook.store.place.project)
        with suppress(StateUnavailable), hook.store.state() as state:
            idle_agents.note(
                state,
                idle_agents.make(
                    state, request, run.agent_id, session, project, asks=asks
                ),
            )


def fail(
    hook: HookContext,
    run: AgentRun,
    code: FailureCode,
    *,
    source: str,
    words: str = "",
    detail: str = "",
    is_final: bool = False,
) -> None:
    """End the try of a run with a named failure.

    The request ends with it, unless the reason may pass; then it waits for its next
    try. One that `is_final` has no other.
    """
    request = hook.store.find_unfinished(RequestId(run.request_id))
    if request is None:
        subagent_runs.end(hook.store, run)
        return
    if not serves(run, request):
        reason = f"{code}, but somebody else has the request now"
        keep_late(hook, run, words, source, reason)
        subagent_runs.end(hook.store, run)
        return
    message, raw = explain(code, detail), _for_asker(hook, run, words)
    response = failed(request, code, message, now_ms=hook.now_ms(), raw=raw)
    response, tokens = _with_usage(hook, run, request, response)
    with suppress(StateUnavailable), hook.store.state() as state:
        idle_agents.forget(state, run.agent_id if run.continued_from else "")
    if is_final or request.continues is not None:
        # No other agent than that one may be asked.
        hook.store.publish(response, source=source)
    else:
        from bridge.host.offers import end_try

        end_try(hook, response, lambda claim: _is_of(run, claim), source=source)
    _free(hook, run, tokens)


def _with_usage(
    hook: HookContext, run: AgentRun, request: Request, response: Response
) -> tuple[Response, int]:
    """The response with what its agents took, and this one's own tokens.

    They count in its run before the answer leads anywhere.
    """
    taken = agent_usage.taken_by(hook.event, run)
    usage = together(request.took, taken and taken.total)
    if taken is None:
        return response.with_(usage=usage), 0
    note_in_run(hook.store, run.request_id, run.tool_use_id, taken.charged)
    model = taken.model or response.model
    return response.with_(usage=usage, model=model), taken.charged


def together(before: Usage | None, now: Usage | None) -> Usage | None:
    """What was taken in both parts, as far as that is known."""
    return now if before is None else before if now is None else before + now


def _free(hook: HookContext, run: AgentRun, tokens: int) -> None:
    subagent_runs.end(hook.store, run, tokens=tokens)
    look_soon(hook)


def _for_asker(hook: HookContext, run: AgentRun, words: str) -> str:
    """The words of an agent, as whoever asked may read them.

    None of a fork's, however it ends, once its user's yes has been taken back.
    """
    if not run.is_fork:
        return words
    from bridge.bound.forks import is_shared

    return words if is_shared(hook.settings, hook.store.place) else ""


def line_about(hook: HookContext, request_id: str) -> str:
    """The line for the user about a request that has ended; otherwise empty."""
    found = hook.store.find(RequestId(request_id))
    response = found.response if found else None
    if response is None:
        request = found.request if found else None
        if request is not None and request.asks is not None:
            return one_line(
                f"hostbridge: {request_id} asks: {asks_words(request.asks)}"
            )
        if request is None or not request.is_paused(hook.now_ms()):
            return ""
        from bridge.protocol.retries import pause_words

        paused = pause_words(request, hook.now_ms())
        return one_line(f"hostbridge: {request_id}: {paused}")
    how = response.error.code if response.error else "answered"
    seconds = response.duration / 1000
    return one_line(f"hostbridge: {request_id} {how} after {seconds:.1f} s")


def serves(run: AgentRun, request: Request) -> bool:
    """Whether the request still waits for this run."""
    claim = request.claim
    return claim is not None and _is_of(run, claim)


def _is_of(run: AgentRun, claim: Claim) -> bool:
    return claim.host == run.host and claim.tool_use_id == run.tool_use_id


def keep_late(
    hook: HookContext, run: AgentRun, words: str, source: str, reason: str
) -> None:
    """Keep an answer that came too late as evidence, unless it is empty."""
    words = _for_asker(hook, run, words)
    if words.strip():
        hook.store.keep_evidence(
            run.request_id, reason=reason, source=source, words=words
        )
