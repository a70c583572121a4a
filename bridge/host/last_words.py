"""Whether an agent's last words are its own answer to this question, and a valid one.

Nothing is decided here: `bridge.host.capture` does, by what this says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.config import has_cd_path
from bridge.host import transcript
from bridge.host.context import HookContext
from bridge.process.time_limit import TooSlow, within
from bridge.protocol.contract import prompt_for
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import Judgement, judge
from bridge.protocol.question import KEY
from bridge.protocol.request import Request
from bridge.store import tool_calls
from bridge.store.subagent_runs import AgentRun

if TYPE_CHECKING:
    from bridge.protocol.claimed_commands import ToolCall

# How long the check of one answer may take, in seconds.
JUDGE_S = 8


def judged(hook: HookContext, run: AgentRun, request: Request, words: str) -> Judgement:
    """Judge the answer; one that cannot be checked in time is invalid."""
    if request.answer_schema is not None or (request.may_ask and KEY in words):
        # Before the time limit: an interrupted import leaves half a module.
        import bridge.protocol.json_schema  # noqa: F401

    calls = _seen_calls(hook, run)
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
        return Judgement(
            code="schema_mismatch",
            complaint="the answer could not be checked against its schema within "
            f"{JUDGE_S} s",
        )


def _seen_calls(hook: HookContext, run: AgentRun) -> list[ToolCall]:
    """The agent's commands as an answer may claim them."""
    calls = tool_calls.seen_calls(hook.store, run.agent_id)
    if not calls:
        return []
    from bridge.policy.seen_commands import as_claimed
    from bridge.policy.shell_signs import is_searched

    here = run.folder or os.path.realpath(hook.store.place.project)
    calls = [as_claimed(call, here) for call in calls]
    if has_cd_path():
        calls = [
            call._replace(within=None) if is_searched(call.command or "") else call
            for call in calls
        ]
    return calls


def had_another_prompt(
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
        hook.event, run.agent_id, asked, session=run.session, patience_s=patience_s
    )
    return got_it is False


def said_now(
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
        from bridge.host import asking

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
