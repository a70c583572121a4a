"""PostToolUse(Agent): hold the turn until the agent that a rule chose has answered.

Standard library only while it waits, which may be for minutes. At a terminal every
agent runs in the background, and the client goes on at once; what holds it is that this
hook has not ended. A launch of handed-over work leaves a note,
`agents/<tool_use_id>.wait`, with the request and until when to wait, in milliseconds
since the machine was started.
`<tool_use_id>.told` says that the answer was delivered here, so that the notice of the
agent's end need not carry it.

Source: measured on Claude Code 2.1.330: the context reaches the same turn, in subagents
too, and costs no request. Esc ends the wait and the turn; the agent goes on, and its
notice carries the answer. If the user stops the agent meanwhile, no hook hears of it:
the client writes `stoppedByUser` into the agent's `meta.json`.
"""

from __future__ import annotations

import json
import os
import sys
import time

from bridge.bound.call_notes import is_name, load, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

# The client moves what takes two minutes to the background.
MAX_WAIT_S = 110
# For those that may wait for an agent (bridge/bound/answer_wait.py, headless.py).
WAIT_S = 150
_POLL_S = 0.05
MAX_CONTEXT = 9_000


def wait(state: str, fields: Json) -> bytes:
    """What to tell the model that made the call; nothing if it was no such call."""
    call = name_of(fields.get("tool_use_id"))
    note = f"{state}/agents/{call}.wait"
    known = load(note) if is_name(call) else None
    request = known.get("requestId") if known else None
    if known is None or not is_name(request):
        return b""
    result = fields.get("tool_response")
    if not isinstance(result, dict) or result.get("isAsync") is not True:
        # The call itself has waited, and its result is the answer.
        return b""
    # On the monotonic clock, as the store: the other one may be set meanwhile.
    left_s = known.get("until", 0) / 1000 - time.monotonic()
    meta = _meta_of(fields, result.get("agentId"))
    response = _answer(state, str(request), left_s, meta)
    try:
        if response is None:
            os.unlink(note)
        else:
            os.replace(note, f"{state}/agents/{call}.told")
    except OSError:
        # Then the notice tells it, perhaps again.
        pass
    if response is None and _is_stopped(meta):
        response = {"error": {"code": "agent_stopped", "message": "by the user"}}
    elif response is None and left_s <= MAX_WAIT_S:
        # Whoever looks next writes it down.
        response = {"error": {"code": "timeout", "message": "its time is over"}}
    agent = known.get("agent")
    text = _told(str(agent), str(request), response)
    output = {"hookEventName": "PostToolUse", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output}).encode()


def _answer(state: str, request: str, left_s: float, meta: str) -> Json | None:
    """The response once it is there; None if it is not in time, or will not come.

    A file that somebody else has put there is not an answer.
    """
    deadline = time.monotonic() + min(MAX_WAIT_S, left_s)
    forged: Json | None = None
    while True:
        response = load(f"{state}/responses/{request}.json")
        if response is not None and response != forged:
            if _is_own(response, state, request):
                return response
            forged = response
        if time.monotonic() >= deadline or _is_stopped(meta):
            return None
        time.sleep(_POLL_S)


def _is_own(response: Json, state: str, request: str) -> bool:
    """Whether hostbridge has written an answer: from here on, with all libraries."""
    if sys.flags.no_site:
        import site

        site.main()
    from bridge.store.records import is_own_answer

    return is_own_answer(response, state, request)


def _meta_of(fields: Json, agent: object) -> str:
    """The file that the client keeps about an agent."""
    folder = str(fields.get("transcript_path")).removesuffix(".jsonl")
    return f"{folder}/subagents/agent-{name_of(agent)}.meta.json"


def _is_stopped(meta: str) -> bool:
    known = load(meta)
    return known is not None and known.get("stoppedByUser") is True


def _told(agent: str, request: str, response: Json | None) -> str:
    if response is None:
        return (
            f"hostbridge: {agent} still works on this. Its answer comes as a notice: "
            "do not start it again, and do not run the command yourself."
        )
    if response.get("parsedOutput") is not None:
        return answer_text(f"hostbridge: {agent} answered:", request, response)
    said = f"hostbridge: {agent} did not answer {why_failed(response)}"
    return _cut(f"{said}\nThe call may be made again.", request)


def why_failed(response: Json) -> str:
    """Why there is no answer: `(code): message`."""
    error = response.get("error")
    error = error if isinstance(error, dict) else {}
    return f"({error.get('code', 'no answer')}): {error.get('message', '')}"


def answer_text(head: str, request: str, response: Json) -> str:
    """An answer below these words, cut to what one context holds."""
    answer = json.dumps(response.get("parsedOutput"), ensure_ascii=False)
    return _cut(f"{head}\n{answer}", request)


def _cut(text: str, request: str) -> str:
    more = f"… all of it: hostbridge show {request}"
    return text if len(text) <= MAX_CONTEXT else text[: MAX_CONTEXT - 200] + more
