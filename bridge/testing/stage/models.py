"""Models that do what hostbridge asks of a host, and models that do not.

A model here is a script for `ScriptedApi`, put together from two parts: what the main
thread does and what subagents do. `obedient_model()` is the good host; replace a part
to get another one:

    obedient_model(main=ignoring(3))                 # the first three offers lapse
    obedient_model(lambda prompt, _: reply(prompt))  # the subagent echoes its prompt
    obedient_model(lambda *_: error(429, "rate_limit_error", "Slow down"))
    obedient_model(answering(reply(tool_use("Bash", {"command": "ls"})), reply("{}")))
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from bridge.testing.stage.replies import (
    Answer,
    HttpFailure,
    Reply,
    Text,
    ToolUse,
    reply,
    tool_use,
)
from bridge.testing.stage.turns import ApiRequest

if TYPE_CHECKING:
    from bridge.testing.stage.api import Script

# What a subagent says, given its prompt and its request.
Answers = Callable[[str, ApiRequest], Answer]

TOKEN = re.compile(r"\bbridge:([A-Za-z0-9_-]{1,128})")
MESSAGE_CALL = re.compile(r'{"to":"([^"]+)","message":"bridge:([A-Za-z0-9_-]{1,128})"}')
HANDBACK = "SubagentHandback"
MESSAGE = "SendMessage"


def obedient_model(
    answers: Answers | None = None, *, main: Script | None = None
) -> Script:
    """Make a model that launches every request offered and answers it."""
    main_part = main or launching()
    answers_part = answers or agent_output

    def script(request: ApiRequest) -> Answer:
        if request.role == "subagent":
            return subagent_turn(answers_part, request)
        return main_part(request)

    return script


def launching(*, closing: str = "ok", again: bool = False) -> Script:
    """Make a main thread that starts one agent for each `bridge:<id>` it is told of.

    What it has launched once it does not launch when told again, unless `again`. It
    asks an agent again if it is told so; for that it loads SendMessage first.
    """

    def script(request: ApiRequest) -> Reply:
        again_asked = offered_messages(request)
        told = {token for _, token in again_asked}
        tokens = offered_tokens(request) if again else new_tokens(request)
        calls = [launch(token) for token in tokens if token not in told]
        if again_asked and MESSAGE not in request.tools:
            calls.append(tool_use("ToolSearch", {"query": f"select:{MESSAGE}"}))
        else:
            calls += [send(agent, token) for agent, token in again_asked]
        return reply(*calls) if calls else reply(closing)

    return script


def send(agent_id: str, token: str) -> ToolUse:
    """Return the one call that asks an agent again, for request `token`."""
    return tool_use(MESSAGE, {"to": agent_id, "message": f"bridge:{token}"})


def offered_messages(request: ApiRequest) -> list[tuple[str, str]]:
    """Return agents and ids that the model was told to send and has not sent yet."""
    # Its own Agent call may have named the same request, whose agent goes on now.
    calls = [call for call in request.own_calls if call.get("name") == MESSAGE]
    sent = json.dumps([call.get("input") for call in calls])
    told = dict.fromkeys(MESSAGE_CALL.findall(request.heard_text))
    return [(agent, token) for agent, token in told if f"bridge:{token}" not in sent]


def ignoring(offers: int) -> Script:
    """Make a main thread that leaves its first `offers` offers alone, then obeys."""
    obey = launching()
    left = offers
    lock = threading.Lock()

    def script(request: ApiRequest) -> Answer:
        nonlocal left
        with lock:
            if left > 0 and new_tokens(request):
                left -= 1
                return reply("no")
        return obey(request)

    return script


def launch(token: str) -> ToolUse:
    """Return the one call that serves request `token`."""
    return tool_use("Agent", {"description": "b", "prompt": f"bridge:{token}"})


def offered_tokens(request: ApiRequest) -> list[str]:
    """Return the ids named since the model's last words, each once."""
    return list(dict.fromkeys(TOKEN.findall(request.newest_text)))


def new_tokens(request: ApiRequest) -> list[str]:
    """Return the ids offered that the model has never launched yet."""
    launched = {
        found
        for call in request.own_calls
        for found in TOKEN.findall(json.dumps(call.get("input")))
    }
    return [token for token in offered_tokens(request) if token not in launched]


def agent_output(_prompt: str = "", _request: ApiRequest | None = None) -> Reply:
    """Answer with a valid AgentOutput."""
    output = {"status": "success", "summary": "done on the stage", "evidence": []}
    return reply(json.dumps(output))


def answering(*turns: Answer) -> Answers:
    """Make a subagent that gives one answer a turn; the last one is repeated.

    Turns are counted for each agent on its own, by what it has said so far.
    """

    def answers(_prompt: str, request: ApiRequest) -> Answer:
        said = sum(item.get("role") == "assistant" for item in request.messages)
        return turns[said] if said < len(turns) else turns[-1]

    return answers


def subagent_turn(answers: Answers, request: ApiRequest) -> Answer:
    """Give one turn of a subagent, by `SubagentHandback` where the client wants it.

    In permission mode auto the client offers that tool and takes a subagent's report
    only from there: a reply of nothing but words becomes a call of it, and the turn
    after a call that was accepted ends with a short text.
    """
    if HANDBACK not in request.tools:
        return answers(request.prompt, request)
    if _was_handed_back(request):
        return reply("handed back")
    answer = answers(request.prompt, request)
    if (
        isinstance(answer, HttpFailure)
        or not answer.blocks
        or answer.reason == "tool_use"
    ):
        return answer
    words = "".join(b.text for b in answer.blocks if isinstance(b, Text))
    return Reply((tool_use(HANDBACK, {"message": words}),), delay_s=answer.delay_s)


def _was_handed_back(request: ApiRequest) -> bool:
    reports = {
        call.get("id") for call in request.own_calls if call.get("name") == HANDBACK
    }
    return any(
        result.call_id in reports and not result.is_error
        for result in request.tool_results
    )
