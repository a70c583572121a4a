"""Take an agent's own last words as the answer, or send it back to try again.

A valid answer is published and wakes the caller. An invalid one is sent back to the
agent, at most twice; then it is a failure with a code, and every answer is kept.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import StateUnavailable
from bridge.host import agent_usage, asking, transcript
from bridge.host.answer_reads import keep_reads
from bridge.host.context import HookContext
from bridge.host.offers import end_try, look_soon
from bridge.host.output import one_line
from bridge.process.time_limit import TooSlow, within
from bridge.protocol.contract import prompt_digest, prompt_for
from bridge.protocol.failure_codes import FailureCode, explain
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import Verdict, judge
from bridge.protocol.names import MODEL_NAMES
from bridge.protocol.question import KEY, Asked, asks_words, blocked_by
from bridge.protocol.request import Claim, Request
from bridge.protocol.response import Response, answered, failed
from bridge.protocol.usage import Usage
from bridge.store import idle_agents, subagent_runs, tool_calls
from bridge.store.charges import note_in_run
from bridge.store.live_runs import run_of
from bridge.store.subagent_runs import AgentRun

if TYPE_CHECKING:
    from bridge.host.interim import Ahead

MAX_CORRECTIONS = 2
# How long the check of one answer may take, in seconds.
JUDGE_S = 8
REPLACED = "see `hostbridge doctor` for hooks that rewrite Agent calls"
RECEIPT = "hostbridge delivered this answer to the program that asked."
INTERIM = "interim: agents that it started had not ended"
UNHEARD = (
    "it was not woken when the agents ended that it had started; what it said before "
    "is kept as evidence"
)


def take_words(
    hook: HookContext,
    run: AgentRun,
    words: str,
    *,
    source: str,
    ahead: Ahead | None = None,
) -> str | None:
    """Publish the answer, have it corrected, or fail the request.

    `ahead` is what the agent has still to hear of; None for an agent that is over and
    cannot correct anything. While agents of its own have still to report, nothing is
    decided. An agent with a command in the background may answer, since the command may
    be a server; whether an invalid answer of it fails is decided when it stops again.

    Returns what to tell an agent that should go on, otherwise None.
    """
    found = hook.store.find(RequestId(run.request_id))
    request = found.request if found else None
    if request is None or found is None:
        subagent_runs.end(hook.store, run)
        return None
    if found.response is not None:
        if words != found.response.raw_output:
            why = f"the request had ended: {found.status}"
            _keep_late(hook, run, words, source, why)
        subagent_runs.end(hook.store, run)
        return None
    asked = prompt_for(request)
    if run.prompt_sha256 not in ("", prompt_digest(asked)):
        # A pruned id may be used again.
        _keep_late(hook, run, words, source, "the agent was asked something else")
        subagent_runs.end(hook.store, run)
        return None
    if _had_another_prompt(hook, run, request, asked):
        fail(hook, run, "prompt_replaced", words=words, source=source, detail=REPLACED)
        return None
    words = _said_now(hook, run, request, words, source)
    if ahead is not None and ahead.is_interim:
        _keep_late(hook, run, words, source, INTERIM)
        return ahead.reports or None
    return _decided(hook, run, request, words, source=source, ahead=ahead)


def _decided(
    hook: HookContext,
    run: AgentRun,
    request: Request,
    words: str,
    *,
    source: str,
    ahead: Ahead | None,
) -> str | None:
    """What becomes of the words that an agent ends with; returns as `take_words`."""
    verdict = _judged(hook, run, request, words)
    if verdict.question is not None and _serves(run, request):
        return _ask(hook, run, verdict.question, words, source, ahead)
    if verdict.is_valid:
        _publish(hook, run, request, words, verdict, source)
        return None
    if ahead is not None and ahead.commands:
        return None
    if ahead is not None and _may_correct(hook, run, request):
        return _correct(hook, run, words, verdict, source)
    code = verdict.code or "no_json"
    fail(hook, run, code, words=words, source=source, detail=verdict.detail)
    return None


def _ask(
    hook: HookContext,
    run: AgentRun,
    question: Asked,
    words: str,
    source: str,
    ahead: Ahead | None,
) -> str | None:
    """The agent asks: write that down, and tell it the reply if that comes soon.

    Otherwise it may end: the request waits for the reply, and the agent goes on then.
    """
    is_over = ahead is None
    found = hook.store.find_unfinished(RequestId(run.request_id))
    if found is not None and run_of(hook.store.place, run.request_id):
        # A run asks its person, as for any agent that is blocked by a question.
        verdict = Verdict(blocked_by(question), "agent_blocked", question.words)
        _publish(hook, run, found, words, verdict, source)
        return None
    request = asking.write_down(hook, run, question, is_over=is_over)
    if request is None:
        _keep_late(hook, run, words, source, "a question, but nobody waits for it")
        subagent_runs.end(hook.store, run)
        return None
    told = None if is_over else asking.hold(hook, request)
    if told is None:
        let_wait(hook, run)
    return told


def let_wait(hook: HookContext, run: AgentRun) -> None:
    """An agent that has asked is over; its request waits for the reply, with no slot.

    First the agent is free: whoever has the reply may have it go on at once.
    """
    request = hook.store.find_unfinished(RequestId(run.request_id))
    if request is None or not _serves(run, request):
        subagent_runs.end(hook.store, run)
        return
    taken = agent_usage.taken_by(hook.event, run)
    took = _together(request.took, taken and taken.total)
    if not (hook.session.one_shot or request.is_temporary):
        _note_idle(hook, run, request, asks=True)
    subagent_runs.end(hook.store, run, tokens=taken.own.tokens if taken else 0)
    hook.store.give_back(
        RequestId(run.request_id), run.host, lambda held: held.with_(took=took)
    )
    look_soon(hook)


def _may_correct(hook: HookContext, run: AgentRun, request: Request) -> bool:
    claim = request.claim
    return (
        claim is not None
        and _serves(run, request)
        and claim.corrections < MAX_CORRECTIONS
        and hook.now_ms() < request.deadline_ms
    )


def take_last_words(
    hook: HookContext, run: AgentRun, words: str, *, source: str
) -> None:
    """Take the last message of an agent that is over, but no interim words."""
    started = subagent_runs.started_by(hook.store, run)
    if any(each.agent_id in run.waits_for for each in started):
        fail(hook, run, "agent_error", words=words, source=source, detail=UNHEARD)
    else:
        take_words(hook, run, words, source=source)


def _judged(hook: HookContext, run: AgentRun, request: Request, words: str) -> Verdict:
    """Judge the answer; one that cannot be checked in time is invalid."""
    if request.answer_schema is not None or (request.may_ask and KEY in words):
        # Before the time limit: an interrupted import leaves half a module.
        import bridge.protocol.json_schema  # noqa: F401

    calls = tool_calls.seen_calls(hook.store, run.agent_id)
    try:
        with within(JUDGE_S):
            return judge(
                request,
                words,
                calls=calls,
                agent_id=run.agent_id,
                now_ms=hook.now_ms(),
                must_verify=run.require_verified_evidence,
            )
    except TooSlow:
        return Verdict(
            code="schema_mismatch",
            complaint="the answer could not be checked against its schema within "
            f"{JUDGE_S} s",
        )


def _had_another_prompt(
    hook: HookContext, run: AgentRun, request: Request, asked: str
) -> bool:
    """Whether another hook's rewrite won, and its launch has not shown it (yet)."""
    if run.continued_from:
        # Otherwise the hook after the call has seen what was sent.
        return run.state == "launched" and not transcript.was_told(
            hook.event, run.agent_id, asked, patience_s=transcript.WRITTEN_S
        )
    claim = request.claim
    is_launch_seen = claim is not None and claim.background is not None
    patience_s = 0 if is_launch_seen else transcript.WRITTEN_S
    got_it = transcript.was_given(
        hook.event, run.agent_id, asked, patience_s=patience_s
    )
    return got_it is False


def _said_now(
    hook: HookContext, run: AgentRun, request: Request, words: str, source: str
) -> str:
    """The agent's words to this question: none if they are those to the one before.

    If an agent that is asked again says nothing, the client repeats its last answer
    (measured on 2.1.330). The same words may be its answer to both questions: then its
    transcript has them twice. What it hands back it says now.
    """
    continued = request.claim.continued if request.claim else None
    if continued is None or not run.continued_from or source == "SubagentHandback":
        return words
    if request.goes_on:
        repeats = asking.is_repeated(request, words)
    else:
        before = hook.store.find(RequestId(continued.after))
        response = before.response if before else None
        repeats = response is not None and response.raw_output == words
    if not repeats:
        return words
    asked = prompt_for(request)
    has_spoken = transcript.has_spoken_since(
        hook.event, run.agent_id, asked, patience_s=transcript.WRITTEN_S
    )
    return words if has_spoken else ""


def _correct(
    hook: HookContext, run: AgentRun, words: str, verdict: Verdict, source: str
) -> str | None:
    code = str(verdict.code)
    hook.store.keep_evidence(
        run.request_id,
        reason=f"{code}: {verdict.complaint}",
        source=source,
        words=words,
    )
    changed = hook.store.change_claim(
        RequestId(run.request_id),
        run.host,
        lambda c: c.with_(corrections=c.corrections + 1, last_failure=code),
        event="corrected",
    )
    if changed is None:
        return None
    how = (
        "call SubagentHandback again"
        if source == "SubagentHandback"
        else "answer again"
    )
    return (
        f"hostbridge could not use this answer: {verdict.complaint}. Please {how} with "
        "exactly one JSON value that satisfies the schema in your instructions, and "
        "nothing else."
    )


def _publish(
    hook: HookContext,
    run: AgentRun,
    request: Request,
    words: str,
    verdict: Verdict,
    source: str,
) -> None:
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
    if _serves(run, request) and not is_asked_once:
        # First: whoever reads the answer may ask on at once.
        _note_idle(hook, run, request)
    keep_reads(hook, run, request, response)
    _close(hook, run, request, response, source)


def _note_idle(
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
    if not _serves(run, request):
        reason = f"{code}, but somebody else has the request now"
        _keep_late(hook, run, words, source, reason)
        subagent_runs.end(hook.store, run)
        return
    message = explain(code, detail)
    response = failed(request, code, message, now_ms=hook.now_ms(), raw=words)
    response, tokens = _with_usage(hook, run, request, response)
    with suppress(StateUnavailable), hook.store.state() as state:
        idle_agents.forget(state, run.agent_id if run.continued_from else "")
    if is_final or request.continues is not None:
        # No other agent than that one may be asked.
        hook.store.publish(response, source=source)
    else:
        end_try(hook, response, lambda claim: _is_of(run, claim), source=source)
    _free(hook, run, tokens)


def _close(
    hook: HookContext, run: AgentRun, request: Request, response: Response, source: str
) -> None:
    """Publish, and free the slot."""
    response, tokens = _with_usage(hook, run, request, response)
    hook.store.publish(response, source=source)
    _free(hook, run, tokens)


def _with_usage(
    hook: HookContext, run: AgentRun, request: Request, response: Response
) -> tuple[Response, int]:
    """The response with what its agents took, and this one's own tokens.

    They count in its run before the answer leads anywhere.
    """
    taken = agent_usage.taken_by(hook.event, run)
    usage = _together(request.took, taken and taken.total)
    if taken is None:
        return response.with_(usage=usage), 0
    note_in_run(hook.store, run.request_id, run.tool_use_id, taken.charged)
    model = taken.model or response.model
    return response.with_(usage=usage, model=model), taken.charged


def _together(before: Usage | None, now: Usage | None) -> Usage | None:
    """What was taken in both parts, as far as that is known."""
    return now if before is None else before if now is None else before + now


def _free(hook: HookContext, run: AgentRun, tokens: int) -> None:
    subagent_runs.end(hook.store, run, tokens=tokens)
    look_soon(hook)


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


def _serves(run: AgentRun, request: Request) -> bool:
    """Whether the request still waits for this run."""
    claim = request.claim
    return claim is not None and _is_of(run, claim)


def _is_of(run: AgentRun, claim: Claim) -> bool:
    return claim.host == run.host and claim.tool_use_id == run.tool_use_id


def _keep_late(
    hook: HookContext, run: AgentRun, words: str, source: str, reason: str
) -> None:
    """Keep an answer that came too late as evidence, unless it is empty."""
    if words.strip():
        hook.store.keep_evidence(
            run.request_id, reason=reason, source=source, words=words
        )
