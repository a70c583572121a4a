"""The models, as pure functions from requests to replies."""

from __future__ import annotations

import json
from typing import Any

from stage.models import (
    agent_output,
    answering,
    ignoring,
    launch,
    launching,
    obedient_model,
)
from stage.replies import Reply, Text, ToolUse, error, reply, tool_use
from stage.turns import AGENT_HEADER, ApiRequest

Message = dict[str, Any]


def turn(
    *messages: Message, agent: str | None = None, tools: tuple[str, ...] = ("Bash",)
) -> ApiRequest:
    """Make a turn of the main thread, or of a subagent."""
    body = {"tools": [{"name": name} for name in tools], "messages": list(messages)}
    headers = {AGENT_HEADER: agent} if agent else {}
    return ApiRequest(0, "POST", "/v1/messages", headers, body, 0)


def user(words: str) -> Message:
    """Make what is said to the model."""
    return {"role": "user", "content": words}


def said(answer: Any) -> Message:
    """Make what the model said, from its own answer."""
    content = [
        {"type": "tool_use", "id": block.call_id, "name": block.name}
        | {"input": dict(block.arguments)}
        if isinstance(block, ToolUse)
        else {"type": "text", "text": block.text}
        for block in answer.blocks
    ]
    return {"role": "assistant", "content": content}


def result(call: ToolUse, words: str, *, is_error: bool = False) -> Message:
    """Make the result of a call."""
    block = {"type": "tool_result", "tool_use_id": call.call_id, "content": words}
    return {"role": "user", "content": [{**block, "is_error": is_error}]}


def plain(answer: Any) -> list[Any]:
    """Return the blocks of an answer without their ids."""
    return [
        (block.name, block.arguments) if isinstance(block, ToolUse) else block.text
        for block in answer.blocks
    ]


def call_of(answer: Any) -> ToolUse:
    """Return the only call of an answer."""
    (call,) = answer.blocks
    assert isinstance(call, ToolUse)
    return call


def test_it_launches_every_request_offered_in_one_message() -> None:
    """The call is exactly the cheapest one that the client accepts."""
    model = obedient_model()

    answer = model(turn(user("please run bridge:a1, bridge:b_2 and bridge:a1")))

    assert plain(answer) == [
        ("Agent", {"description": "b", "prompt": "bridge:a1"}),
        ("Agent", {"description": "b", "prompt": "bridge:b_2"}),
    ]


def test_it_launches_a_request_once() -> None:
    """A notice that names a request again must not run it again."""
    model = obedient_model()
    first = model(turn(user("bridge:a1")))

    later = model(turn(user("bridge:a1"), said(first), user("bridge:a1 bridge:b2")))

    assert plain(later) == [("Agent", {"description": "b", "prompt": "bridge:b2"})]


def test_it_launches_a_request_again_when_made_to() -> None:
    """A request that was given back is offered a second time."""
    model = obedient_model(main=launching(again=True))

    later = model(turn(user("bridge:a1"), said(reply(launch("a1"))), user("bridge:a1")))

    assert plain(later) == [("Agent", {"description": "b", "prompt": "bridge:a1"})]


def test_it_ends_its_turn_when_nothing_is_offered() -> None:
    """Otherwise a session would never be idle."""
    assert plain(obedient_model()(turn(user("hello")))) == ["ok"]


def test_a_model_can_ignore_offers() -> None:
    """Offers are repeated up to a limit, and then given back."""
    model = obedient_model(main=ignoring(2))

    answers = [model(turn(user(words))) for words in ("hi", "bridge:a", "bridge:a")]

    assert [plain(answer) for answer in answers] == [["ok"], ["no"], ["no"]]
    assert call_of(model(turn(user("bridge:a")))).name == "Agent"


def test_a_subagent_answers_with_an_agent_output() -> None:
    """The default answer is a valid one."""
    answer = obedient_model()(turn(user("the full prompt"), agent="a1"))

    assert json.loads(plain(answer)[0]) == {
        "status": "success",
        "summary": "done on the stage",
        "evidence": [],
    }


def test_a_subagent_can_work_before_it_answers() -> None:
    """Evidence names a tool call, so one has to be made."""
    work = reply(tool_use("Bash", {"command": "ls"}))
    model = obedient_model(answering(work, reply("done"), reply("again")))
    start = [user("the full prompt")]

    first = model(turn(*start, agent="a1"))
    worked = [*start, said(first), result(call_of(first), "a b c")]
    second = model(turn(*worked, agent="a1"))
    third = model(turn(*worked, said(second), user("no"), agent="a1"))

    assert plain(first) == [("Bash", {"command": "ls"})]
    assert [plain(second), plain(third)] == [["done"], ["again"]]


def test_a_subagent_is_told_its_prompt() -> None:
    """An echo of the prompt is a failure with a name."""
    model = obedient_model(lambda prompt, _: reply(prompt))

    assert plain(model(turn(user("the full prompt"), agent="a1"))) == [
        "the full prompt"
    ]


def test_a_subagent_can_fail_or_say_nothing() -> None:
    """Neither may become a handback."""
    tools = ("Bash", "SubagentHandback")
    failure = error(400, "invalid_request_error", "no")
    broken = obedient_model(lambda *_: failure)
    silent = obedient_model(lambda *_: reply())

    assert broken(turn(user("p"), agent="a1", tools=tools)) == failure
    assert silent(turn(user("p"), agent="a1", tools=tools)) == Reply()


def test_a_report_is_handed_back_where_the_client_wants_it() -> None:
    """In auto mode a subagent's last words go nowhere."""
    tools = ("Bash", "SubagentHandback")
    model = obedient_model(lambda *_: reply("my report"))
    start = [user("the full prompt")]

    handed = model(turn(*start, agent="a1", tools=tools))
    refused = [*start, said(handed), result(call_of(handed), "no", is_error=True)]
    again = model(turn(*refused, agent="a1", tools=tools))
    accepted = [*start, said(handed), result(call_of(handed), "delivered")]
    last = model(turn(*accepted, agent="a1", tools=tools))

    assert plain(handed) == [("SubagentHandback", {"message": "my report"})]
    assert plain(again) == [("SubagentHandback", {"message": "my report"})]
    assert last == Reply((Text("handed back"),))


def test_agent_output_needs_no_request() -> None:
    """It is a reply to use in lists of turns as well."""
    assert agent_output() == agent_output("p", turn(user("p")))
