"""Take an agent's own last words as the answer, or send it back to try again.

A valid answer is published and wakes the caller. An invalid one is sent back to the
agent, at most twice; then it is a failure with a code, and every answer is kept.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.host import agent_usage
from bridge.host.context import HookContext
from bridge.host.last_words import had_another_prompt, judged, said_now
from bridge.host.run_ends import (
    REPLACED,
    fail,
    keep_late,
    note_idle,
    publish,
    serves,
    together,
)
from bridge.host.waiting import look_soon
from bridge.protocol.contract import prompt_digest, prompt_for
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import Judgement
from bridge.protocol.question import Asked, blocked_by
from bridge.protocol.request import Request
from bridge.store import subagent_runs
from bridge.store.live_runs import run_of
from bridge.store.subagent_runs import AgentRun

if TYPE_CHECKING:
    from bridge.host.interim import Ahead

MAX_CORRECTIONS = 2
WITHDRAWN = "the yes was taken back before its agent had answered (share_conversation)"
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
            keep_late(hook, run, words, source, why)
        subagent_runs.end(hook.store, run)
        return None
    asked = prompt_for(request)
    if run.prompt_sha256 not in ("", prompt_digest(asked)):
        # A pruned id may be used again.
        keep_late(hook, run, words, source, "the agent was asked something else")
        subagent_runs.end(hook.store, run)
        return None
    if had_another_prompt(hook, run, request, asked):
        fail(hook, run, "prompt_replaced", words=words, source=source, detail=REPLACED)
        return None
    words = said_now(hook, run, request, words, source)
    if ahead is not None and ahead.is_interim:
        keep_late(hook, run, words, source, INTERIM)
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
    if run.is_fork:
        from bridge.bound.forks import is_shared

        if not is_shared(hook.settings, hook.store.place):
            # Its words, right or wrong, would go to whoever asked.
            fail(hook, run, "not_shared", source=source, detail=WITHDRAWN)
            return None
    verdict = judged(hook, run, request, words)
    if verdict.question is not None and serves(run, request):
        return _ask(hook, run, verdict.question, words, source, ahead)
    if verdict.code is None and (left := _left_at(hook, run)):
        fail(hook, run, "steps_left", words=words, source=source, detail=left)
        return None
    if verdict.is_valid:
        publish(hook, run, request, words, verdict, source)
        return None
    if ahead is not None and ahead.commands:
        return None
    if ahead is not None and _may_correct(hook, run, request):
        return _correct(hook, run, words, verdict, source)
    code = verdict.code or "no_json"
    fail(hook, run, code, words=words, source=source, detail=verdict.detail)
    return None


def _left_at(hook: HookContext, run: AgentRun) -> str:
    """Where in its workflow an agent has ended; empty if it has none left."""
    if not os.path.lexists(f"{hook.agents_folder}{run.agent_id}.steps"):
        return ""
    from bridge.store.step_states import left_at
    from bridge.store.variables import Holder

    return left_at(hook.store, Holder.agent(run.agent_id))


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
    from bridge.host import asking

    is_over = ahead is None
    found = hook.store.find_unfinished(RequestId(run.request_id))
    if found is not None and run_of(hook.store.place, run.request_id):
        # A run asks its person, as for any agent that is blocked by a question.
        verdict = Judgement(blocked_by(question), "agent_blocked", question.words)
        publish(hook, run, found, words, verdict, source)
        return None
    request = asking.write_down(hook, run, question, is_over=is_over)
    if request is None:
        keep_late(hook, run, words, source, "a question, but nobody waits for it")
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
    if request is None or not serves(run, request):
        subagent_runs.end(hook.store, run)
        return
    taken = agent_usage.taken_by(hook.event, run)
    took = together(request.took, taken and taken.total)
    if not (hook.session.one_shot or request.is_temporary):
        note_idle(hook, run, request, asks=True)
    subagent_runs.end(hook.store, run, tokens=taken.own.tokens if taken else 0)
    hook.store.give_back(
        RequestId(run.request_id), run.host, lambda held: held.with_(took=took)
    )
    look_soon(hook)


def _may_correct(hook: HookContext, run: AgentRun, request: Request) -> bool:
    claim = request.claim
    return (
        claim is not None
        and serves(run, request)
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


def _correct(
    hook: HookContext, run: AgentRun, words: str, verdict: Judgement, source: str
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
