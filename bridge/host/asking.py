"""An agent ends with a question: the hook holds it for a moment, for the reply.

If the reply comes meanwhile, the agent goes on in the same turn. Otherwise it may end:
its request waits, without a slot, and the agent is asked on once the reply is there
(`bridge.host.continuing`), or a new one with question and reply.

Source: measured on Claude Code 2.1.330: SubagentStop may be held for 15 s, and `block`
with words then has the same agent go on; the main thread is served meanwhile.
"""

import os
import time
from contextlib import suppress

from bridge.errors import StateUnavailable
from bridge.host.context import HookContext
from bridge.protocol.ids import RequestId
from bridge.protocol.question import KEY, MOST, Asked, told
from bridge.protocol.request import Request
from bridge.store import questions
from bridge.store.subagent_runs import AgentRun

# Below the limit of a hook, which also has to judge what the agent said; in seconds.
HOLD_S = 9.0
_LOOK_S = 0.05


def write_down(
    hook: HookContext, run: AgentRun, asked: Asked, *, is_over: bool
) -> Request | None:
    """The request with what its agent asks; None if the agent does not serve it.

    An agent that `is_over` may not have heard the reply to this very question: the hook
    that took it was killed. Then nothing is asked again.
    """
    request_id = RequestId(run.request_id)
    if is_over:
        request = hook.store.find_unfinished(request_id)
        if request is None or request.asks is None:
            last = request.exchanges[-1:] if request else ()
            if any(each.words == asked.words for each in last):
                return request
    with hook.store.state() as state:
        return questions.ask(
            state,
            request_id,
            lambda c: c.host == run.host and c.tool_use_id == run.tool_use_id,
            asked,
        )


def is_repeated(request: Request, words: str) -> bool:
    """Whether an agent that goes on with the reply ends with that question again."""
    told_of = request.exchanges[: request.claim.told if request.claim else 0]
    if not told_of or KEY not in words:
        return False
    from bridge.protocol.judge import judge

    question = judge(request, words).question
    return question is not None and question.words == told_of[-1].words


def hold(hook: HookContext, request: Request) -> str | None:
    """Wait a moment for the reply: what the agent is told, None if none has come."""
    asks = request.asks
    if asks is None:
        return None
    place, request_id = hook.store.place.state, request.request_id
    reply = place / questions.FOLDER / questions.reply_file(request_id, asks.number)
    over = place / "responses" / f"{request_id}.json"
    left_s = (request.deadline_ms - hook.now_ms()) / 1000
    until_s = time.monotonic() + min(HOLD_S, left_s)
    while time.monotonic() < until_s and not os.path.lexists(over):
        if os.path.lexists(reply):
            # While the lock is not free, the next look is as good.
            with suppress(StateUnavailable):
                held = _taken(hook, request_id)
                if held is None:
                    return None
                if held.asks is None:
                    is_last = len(held.exchanges) >= MOST
                    return told(held.exchanges[-1], is_last=is_last)
        time.sleep(_LOOK_S)
    return None


def _taken(hook: HookContext, request_id: str) -> Request | None:
    """The request with the reply that has come; None if nobody holds it any more."""
    with hook.store.state() as state, state.hold():
        held = state.find_claimed(request_id)
        return held and questions.take_reply(state, held)


def waits_for_reply(hook: HookContext, request_id: str) -> bool:
    """Whether the agent of a request has asked, and nobody has replied."""
    request = hook.store.find_unfinished(RequestId(request_id))
    return request is not None and request.asks is not None


def waits(hook: HookContext, request_id: str) -> bool:
    """Whether a request waits for a reply to its agent, or for it to go on."""
    request = hook.store.find_unfinished(RequestId(request_id))
    return request is not None and bool(request.asks or request.exchanges)
