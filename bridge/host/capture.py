"""Take a subagent's own last words as the answer, or send it back to try again.

A valid answer is published and wakes the caller. An invalid one is sent back to the
agent, at most twice; then it is a failure with a code, and every answer is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.host import interim, runs
from bridge.host.interim import Ahead
from bridge.host.offers import look_soon
from bridge.host.output import (
    MAX_CONTEXT,
    SILENT,
    HookOutput,
    allow,
    block,
    deny,
    one_line,
)
from bridge.host.time_limit import TooSlow, within
from bridge.protocol.contract import full_prompt, prompt_digest
from bridge.protocol.failure_codes import MEANINGS
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import Verdict, judge
from bridge.protocol.names import MODEL_NAMES
from bridge.protocol.response import Failure, Response, answered, failed
from bridge.store import subagent_runs, tool_calls

if TYPE_CHECKING:
    from bridge.host.context import HookContext
    from bridge.protocol.failure_codes import FailureCode
    from bridge.protocol.request import Request
    from bridge.store.subagent_runs import AgentRun

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
NOTHING = Ahead()
WAIT = (
    "hostbridge: agents that you started still work. You will be woken when they are "
    "done; hand your answer over then."
)
REPORT = (
    "hostbridge: agents that you started have ended meanwhile. Read what they report, "
    "then answer."
)


def subagent_stop(hook: HookContext) -> HookOutput:
    """SubagentStop: the agent wants to end; its last message is the answer."""
    run = runs.find_run(hook.store, hook.event)
    if run is None:
        return SILENT
    run, ahead = interim.look_ahead(hook, run)
    words = hook.event.text("last_assistant_message")
    if run.nested:
        return _nested_stop(hook, run, words, ahead)
    complaint = take_words(
        hook, run, words, source="SubagentStop", may_correct=True, ahead=ahead
    )
    if complaint is not None:
        return block(complaint, MAX_CONTEXT)
    if not run.waits_for:
        subagent_runs.note_sign(hook.store, run, "stopped")
    return SILENT


def _nested_stop(
    hook: HookContext, run: AgentRun, words: str, ahead: Ahead
) -> HookOutput:
    """An agent of an agent: its answer is for the agent that started it."""
    if ahead.reports:
        return block(_with_reports(ahead), MAX_CONTEXT)
    if not run.waits_for:
        if words:
            subagent_runs.keep_report(hook.store, run, words)
        subagent_runs.end(hook.store, run)
    return SILENT


def _with_reports(ahead: Ahead) -> str:
    return f"{REPORT}\n\n{ahead.reports}"


def before_handback(hook: HookContext) -> HookOutput:
    """PreToolUse(SubagentHandback): in auto mode the answer comes through this tool."""
    run = runs.find_run(hook.store, hook.event)
    if run is None:
        return SILENT
    run, ahead = interim.look_ahead(hook, run)
    tool_input = hook.event.table("tool_input")
    message = tool_input.get("message")
    words = message if isinstance(message, str) else ""
    if run.nested:
        if ahead.is_interim:
            return _not_yet(ahead)
        # Its caller has the report now, before this one stops.
        subagent_runs.keep_report(hook.store, run, words)
        subagent_runs.end(hook.store, run)
        return SILENT
    complaint = take_words(
        hook, run, words, source="SubagentHandback", may_correct=True, ahead=ahead
    )
    if ahead.is_interim:
        return _not_yet(ahead)
    if complaint is not None:
        return deny(complaint)
    if run.answer_to_host:
        return SILENT
    if not hook.session.one_shot:
        # Handed back, it would come to the host as a message with a notice behind it;
        # the message can be swallowed, the notice no hook sees (measured on 2.1.330).
        # An agent that is ended here leaves one notice, which `notices` swallows.
        return deny(RECEIPT, stop=True)
    return allow({**tool_input, "message": RECEIPT})


def _not_yet(ahead: Ahead) -> HookOutput:
    """Take no report yet: an agent that ends here sleeps until it is woken."""
    if ahead.agents:
        return deny(WAIT, stop=True)
    return deny(_with_reports(ahead), limit=MAX_CONTEXT)


def take_words(
    hook: HookContext,
    run: AgentRun,
    words: str,
    *,
    source: str,
    may_correct: bool,
    ahead: Ahead = NOTHING,
) -> str | None:
    """Publish, correct or fail; not while its own agents have still to report.

    Returns what to tell an agent that should try again, otherwise None. An agent with a
    command in the background may answer: the command may be a server. If that answer is
    invalid, the decision is left for later.
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
    if not _was_asked(run, request):
        _keep_late(hook, run, words, source, "the agent was asked something else")
        subagent_runs.end(hook.store, run)
        return None
    if run.prompt_replaced or _had_another_prompt(hook, run, request):
        fail(hook, run, "prompt_replaced", words=words, source=source, detail=REPLACED)
        return None
    if ahead.is_interim:
        _keep_late(hook, run, words, source, INTERIM)
        return _with_reports(ahead) if ahead.reports else None
    now_ms = hook.now_ms()
    verdict = _judged(hook, run, request, words)
    if verdict.is_valid:
        _publish(hook, run, request, words, verdict, source)
        return None
    if ahead.commands:
        return None
    claim = request.claim if _serves(run, request) else None
    tried = claim.corrections if claim else MAX_CORRECTIONS
    if may_correct and tried < MAX_CORRECTIONS and now_ms < request.deadline_ms:
        return _correct(hook, run, words, verdict, source)
    code = verdict.code or "no_json"
    fail(hook, run, code, words=words, source=source, detail=verdict.complaint)
    return None


def take_last_words(
    hook: HookContext, run: AgentRun, words: str, *, source: str
) -> str | None:
    """Take the last message of an agent that is over, but no interim words."""
    if any(
        each.agent_id in run.waits_for
        for each in subagent_runs.started_by(hook.store, run)
    ):
        fail(hook, run, "agent_error", words=words, source=source, detail=UNHEARD)
        return None
    return take_words(hook, run, words, source=source, may_correct=False)


def _judged(hook: HookContext, run: AgentRun, request: Request, words: str) -> Verdict:
    """Judge the answer; one that cannot be checked in time is invalid."""
    if request.answer_schema is not None:
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


def _was_asked(run: AgentRun, request: Request) -> bool:
    """Whether this is the agent's request: a pruned id may be used again."""
    text = full_prompt(request.spoken, request.answer_schema)
    return run.prompt_sha256 in ("", prompt_digest(text))


def _had_another_prompt(hook: HookContext, run: AgentRun, request: Request) -> bool:
    """Whether another hook's rewrite won, and its launch has not shown it (yet)."""
    from bridge.host.transcript import WRITTEN_S, was_given

    claim = request.claim
    is_launch_seen = claim is not None and claim.background is not None
    got_it = was_given(
        hook.event,
        run.agent_id,
        full_prompt(request.spoken, request.answer_schema),
        patience_s=0 if is_launch_seen else WRITTEN_S,
    )
    return got_it is False


def _correct(
    hook: HookContext,
    run: AgentRun,
    words: str,
    verdict: Verdict,
    source: str,
) -> str | None:
    code = str(verdict.code)
    changed = hook.store.change_claim(
        RequestId(run.request_id),
        run.host,
        lambda c: c.with_(corrections=c.corrections + 1, last_failure=code),
        event="corrected",
    )
    hook.store.keep_evidence(
        run.request_id,
        reason=f"{code}: {verdict.complaint}",
        source=source,
        words=words,
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
    failure = None
    if verdict.code is not None:
        failure = Failure(
            code=verdict.code, message=verdict.complaint, stage=request.stage
        )
    response = answered(
        request,
        raw=words,
        parsed=verdict.parsed,
        now_ms=hook.now_ms(),
        route="host",
        failure=failure,
        agent_id=run.agent_id,
    )
    if request.model not in (None, *MODEL_NAMES):
        # The client's Agent tool takes no other: the session's own model answered.
        response = response.with_(model=None, degraded=True)
    _close(hook, run, response, source)


def fail(
    hook: HookContext,
    run: AgentRun,
    code: FailureCode,
    *,
    source: str,
    words: str = "",
    detail: str = "",
) -> None:
    """End the request of a run with a named failure."""
    found = hook.store.find(RequestId(run.request_id))
    if found is None or found.request is None or found.response is not None:
        subagent_runs.end(hook.store, run)
        return
    if not _serves(run, found.request):
        reason = f"{code}, but somebody else has the request now"
        _keep_late(hook, run, words, source, reason)
        subagent_runs.end(hook.store, run)
        return
    message = MEANINGS[code] + (f": {detail}" if detail else "")
    response = failed(found.request, code, message, now_ms=hook.now_ms(), raw=words)
    _close(hook, run, response, source)


def _close(hook: HookContext, run: AgentRun, response: Response, source: str) -> None:
    """Publish, and free the slot."""
    hook.store.publish(response, source=source)
    subagent_runs.end(hook.store, run)
    look_soon(hook)


def line_about(hook: HookContext, request_id: str) -> str:
    """The line for the user about a request that has ended; otherwise empty."""
    found = hook.store.find(RequestId(request_id))
    response = found.response if found else None
    if response is None:
        return ""
    how = response.error.code if response.error else "answered"
    seconds = response.duration / 1000
    return one_line(f"hostbridge: {request_id} {how} after {seconds:.1f} s")


def _serves(run: AgentRun, request: Request) -> bool:
    """Whether the request still waits for this run."""
    claim = request.claim
    return (
        claim is not None
        and claim.host == run.host
        and claim.tool_use_id == run.tool_use_id
    )


def _keep_late(
    hook: HookContext, run: AgentRun, words: str, source: str, reason: str
) -> None:
    """Keep an answer that came too late as evidence, unless it is empty."""
    if words.strip():
        hook.store.keep_evidence(
            run.request_id, reason=reason, source=source, words=words
        )
