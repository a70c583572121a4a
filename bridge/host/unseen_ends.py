"""Every way in which a subagent ends without SubagentStop: a typed response at once.

The table is in tests/host/test_ends_in_the_client.py; the events are the client's:
PostToolUse(Agent), PostToolUseFailure(Agent), StopFailure, the notices that arrive as
UserPromptSubmit, and Stop, whose list of background tasks shows what is gone.

Source: measured on Claude Code 2.1.330.
"""

import re
import time
from functools import partial
from itertools import filterfalse
from typing import Any

from bridge.host import agent_usage, interim, limits, runs, transcript
from bridge.host.context import HookContext
from bridge.host.run_ends import RECEIPT, REPLACED, fail, line_about
from bridge.protocol.contract import prompt_digest, prompt_for
from bridge.protocol.failure_codes import FailureCode, explain
from bridge.protocol.hook_output import SILENT, HookOutput, specific, tell_user
from bridge.protocol.ids import RequestId
from bridge.store import subagent_runs
from bridge.store.subagent_runs import AgentRun

# The client's schema wants these named.
_UNKNOWN_USAGE = (
    "cache_creation_input_tokens", "cache_read_input_tokens", "server_tool_use",
    "service_tier", "cache_creation",
)  # fmt: skip

LAUNCHED = "hostbridge has it from here; go on."

# How long a hook of the client may take to start on a busy machine, in seconds.
SETTLE_S = 3.0
# How long the run of an ended subagent is kept for notices still to come.
_ENDED_KEPT_MS = 60_000

_NO_FORK = re.compile(r"\bfork\b", re.I)


def after_agent(hook: HookContext) -> HookOutput:
    """PostToolUse(Agent): a launch in the background, or the end in the foreground."""
    source = "PostToolUse(Agent)"
    run = subagent_runs.find_call(hook.store, hook.event.tool_use_id)
    if run is None:
        return SILENT
    result = hook.event.table("tool_response")
    agent_id = result.get("agentId")
    if isinstance(agent_id, str):
        run = subagent_runs.bind(hook.store, run, agent_id)
    in_background = result.get("isAsync") is True
    if not run.nested and _was_replaced(hook, run):
        # Before the launch is noted as seen: words that come meanwhile would count.
        fail(hook, run, "prompt_replaced", detail=REPLACED, source=source)
    limits.note_bound(hook, run, background=in_background)
    if in_background:
        return SILENT if run.nested else _launched(result)
    if run.state != "ended" and not run.nested:
        # Otherwise these are the client's copy of words that were captured before.
        from bridge.host.capture import take_words

        take_words(hook, run, _body(result), source=source)
    agent_usage.settle(hook, run, result.get("totalTokens"))
    if run.nested:
        subagent_runs.drop(hook.store, run)
        return SILENT
    subagent_runs.drop(hook.store, run)
    line = line_about(hook, run.request_id)
    if run.answer_to_host:
        return tell_user(line)
    receipt = {**result, "content": [{"type": "text", "text": RECEIPT}]}
    receipt |= {"harnessNoteCount": 0, "harnessTailCount": 0}
    return specific("PostToolUse", line, updatedToolOutput=receipt)


def _was_replaced(hook: HookContext, run: AgentRun) -> bool:
    """Whether the agent got another prompt than ours: the call has the final one."""
    prompt = hook.event.table("tool_input").get("prompt")
    return isinstance(prompt, str) and prompt_digest(prompt) != run.prompt_sha256


def _launched(result: dict[str, Any]) -> HookOutput:
    """Say less of a launch than the client does: there is nothing to wait for.

    The client's own text promises a notice and names a file to poll. The shape is that
    of a finished call, which the client's schema for this tool takes as well.
    """
    receipt = {
        "status": "completed",
        "agentId": result.get("agentId"),
        "content": [{"type": "text", "text": LAUNCHED}],
        "prompt": "",
        "canContinueAgent": False,
        "totalToolUseCount": 0,
        "totalDurationMs": 0,
        "totalTokens": 0,
        "usage": {
            **dict.fromkeys(_UNKNOWN_USAGE),
            "input_tokens": 0,
            "output_tokens": 0,
        },
    }
    return specific("PostToolUse", updatedToolOutput=receipt)


def _body(result: dict[str, Any]) -> str:
    """The agent's words in a foreground result, without what the client put around."""
    handback = result.get("handbackReport")
    if isinstance(handback, dict) and isinstance(handback.get("text"), str):
        return str(handback["text"])
    content = result.get("content")
    if not isinstance(content, list):
        return ""
    notes, tail = result.get("harnessNoteCount"), result.get("harnessTailCount")
    first = notes if isinstance(notes, int) else 0
    last = len(content) - (tail if isinstance(tail, int) else 0)
    texts = (
        block.get("text") for block in content[first:last] if isinstance(block, dict)
    )
    return "\n".join(text for text in texts if isinstance(text, str))


def agent_call_failed(hook: HookContext) -> HookOutput:
    """PostToolUseFailure(Agent): the call itself failed, or the agent was stopped."""
    run = subagent_runs.find_call(hook.store, hook.event.tool_use_id)
    if run is None:
        return SILENT
    from bridge.host.client_errors import code_of

    error = hook.event.text("error")
    interrupted = hook.event.raw.get("is_interrupt") is True
    code = "agent_stopped" if interrupted else code_of(error)
    if run.is_fork and not run.agent_id and _NO_FORK.search(error):
        # It is switched off, unknown, or denied: it would be so again.
        code = "no_fork"
    return _failed(hook, run, code, error, "PostToolUseFailure(Agent)")


def stop_failure(hook: HookContext) -> HookOutput:
    """StopFailure: the model behind a subagent, or behind the host, gave no answer.

    The kind that the client names decides what it means, and no words do. In this
    event `last_assistant_message` is the client's own text about the error: for a limit
    the only place that says when it is over.

    Source: Claude Code 2.1.330, whose text it is if `error` names a kind.
    """
    from bridge.host.client_errors import code_of_kind
    from bridge.host.offers import decline, open_offers

    run = runs.find_run(hook.store, hook.event)
    error = " ".join(
        text
        for key in ("error", "error_details", "last_assistant_message")
        if (text := hook.event.text(key))
    )
    code = code_of_kind(hook.event.text("error"), hook.event.text("error_details"))
    if run is not None:
        return _failed(hook, run, code, error, "StopFailure")
    if not hook.event.agent_id:
        for request, _ in open_offers(hook):
            decline(hook, request, code, explain(code, error[:1000]))
    return SILENT


def _failed(
    hook: HookContext, run: AgentRun, code: FailureCode, error: str, source: str
) -> HookOutput:
    if run.nested:
        if run.agent_id:
            # Its caller will be told, and is waited for until then.
            subagent_runs.keep_report(hook.store, run, f"It failed: {error[:1000]}")
            subagent_runs.end(hook.store, run)
        else:
            subagent_runs.drop(hook.store, run)
        return SILENT
    fail(hook, run, code, detail=error[:1000], source=source)
    if not run.agent_id:
        subagent_runs.drop(hook.store, run)
    return tell_user(line_about(hook, run.request_id))


def reconcile(hook: HookContext) -> None:
    """Stop: an agent of ours that the client no longer lists has ended unseen.

    One that waits for a background command or an agent of its own is not listed, but
    what it waits for is.
    """
    running = hook.event.background_ids
    if running is None:
        return
    runs.bind_listed(hook.store, hook.event, everything=True)
    known = subagent_runs.all_runs(hook.store)
    at_work = {r.request_id for r in known if not r.nested and r.state != "ended"}
    callers = {run.agent_id for run in known if run.state != "ended"}
    missing = []
    for run in known:
        if run.host != hook.session.host or run.agent_id in running:
            continue
        is_inside = run.nested and run.request_id in at_work
        if is_inside or (run.parent and run.parent in (*callers, *running)):
            # One that its caller waits for is not listed: it runs in the foreground.
            continue
        if run.waits_for:
            if not interim.is_awaited(run, known, running):
                # It is about to be woken, or was: the next Stop will tell.
                subagent_runs.change(hook.store, run, lambda r: r.with_(waits_for=()))
        elif run.nested or run.state == "ended":
            _forget_later(hook, run)
        elif run.agent_id and (run.state != "launched" or _was_told(hook, run)):
            missing.append(run)
        else:
            # The turn is over, and so is every call that it made.
            call = "SendMessage" if run.continued_from else "Agent"
            detail = (
                f"the {call} call did not run; does a rule or another hook deny it?"
            )
            fail(hook, run, "agent_error", detail=detail, source="Stop", is_final=True)
            subagent_runs.drop(hook.store, run)
    _end_missing(hook, missing, known, running)


def _end_missing(
    hook: HookContext,
    missing: list[AgentRun],
    known: list[AgentRun],
    running: frozenset[str],
) -> None:
    """End those that nothing wakes again, and no other hook ends."""
    if not missing:
        return
    from bridge.host.missed_ends import end_missed

    asleep = partial(interim.may_be_woken, hook, known=known, running=running)
    for run in _unheard(hook, [*filterfalse(asleep, missing)]):
        end_missed(hook, run, source="Stop")


def _was_told(hook: HookContext, run: AgentRun) -> bool:
    """Whether an agent that is asked again has got its question."""
    request = hook.store.find_unfinished(RequestId(run.request_id))
    return request is not None and transcript.was_told(
        hook.event, run.agent_id, prompt_for(request)
    )


def _forget_later(hook: HookContext, run: AgentRun) -> None:
    """Forget an agent of an agent, or one that ended, a while after its end.

    A notice about it may still come: whether the host hears of the end of an agent's
    own agent is a matter of milliseconds.
    """
    since = run.ended_at or run.launched_at
    if not 0 <= hook.now_ms() - since <= _ENDED_KEPT_MS:
        subagent_runs.drop(hook.store, run)


def _unheard(hook: HookContext, missing: list[AgentRun]) -> list[AgentRun]:
    """The runs whose end no other hook is handling at this moment.

    An agent that ends together with the turn is missing from the list while its
    SubagentStop hook still starts: its words must win over our guess. All are waited
    for at once: one after the other, they would hold the turn for longer than a hook
    may take.
    """
    before = [(run, _heard_so_far(hook, run)) for run in missing]
    deadline = time.monotonic() + SETTLE_S
    while before and time.monotonic() < deadline:
        time.sleep(0.05)
        before = [
            (run, heard) for run, heard in before if _heard_so_far(hook, run) == heard
        ]
    return [run for run, _ in before]


def _heard_so_far(hook: HookContext, run: AgentRun) -> tuple[bool, int]:
    """Whether the request has ended, and how often its agent was corrected."""
    request = hook.store.find_unfinished(RequestId(run.request_id))
    claim = request.claim if request else None
    return request is None, claim.corrections if claim else 0


def take_stopped(hook: HookContext, request_id: str) -> None:
    """End a request whose agent the user has stopped: the notice comes later."""
    for run in subagent_runs.all_runs(hook.store):
        if run.request_id == request_id and not run.nested and run.agent_id:
            known = runs.client_notes(hook.event, run.agent_id)
            if known.get("stoppedByUser") is True:
                from bridge.host.missed_ends import end_without_words

                end_without_words(hook, run, "agent_stopped", "by the user", "user")


def release_all(hook: HookContext) -> None:
    """A session ends, or loses our hooks: let go of everything this process held."""
    from bridge.host.missed_ends import hear_finished
    from bridge.host.offers import wake_others

    hear_finished(hook)
    hook.store.sweep(leaving=hook.session.host)
    for run in subagent_runs.all_runs(hook.store):
        if run.host == hook.session.host:
            subagent_runs.drop(hook.store, run)
    wake_others(hook)


HANDLERS = {"StopFailure": stop_failure}
