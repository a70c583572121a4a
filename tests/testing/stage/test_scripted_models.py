"""The models, as pure functions from requests to replies."""

from typing import Any

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import Reply, Text, ToolUse, error, reply
from bridge.testing.stage.turns import AGENT_HEADER, ApiRequest

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


def test_it_launches_every_request_offered_in_one_message():
    """The call is exactly the cheapest one that the client accepts."""
    model = obedient_model()

    answer = model(turn(user("please run bridge:a1, bridge:b_2 and bridge:a1")))

    assert plain(answer) == [
        ("Agent", {"description": "b", "prompt": "bridge:a1"}),
        ("Agent", {"description": "b", "prompt": "bridge:b_2"}),
    ]


def test_it_launches_a_request_once():
    """A notice that names a request again must not run it again."""
    model = obedient_model()
    first = model(turn(user("bridge:a1")))

    later = model(turn(user("bridge:a1"), said(first), user("bridge:a1 bridge:b2")))

    assert plain(later) == [("Agent", {"description": "b", "prompt": "bridge:b2"})]


def test_a_subagent_can_fail_or_say_nothing():
    """Neither may become a handback."""
    tools = ("Bash", "SubagentHandback")
    failure = error(400, "invalid_request_error", "no")
    broken = obedient_model(lambda *_: failure)
    silent = obedient_model(lambda *_: reply())

    assert broken(turn(user("p"), agent="a1", tools=tools)) == failure
    assert silent(turn(user("p"), agent="a1", tools=tools)) == Reply()


def test_a_report_is_handed_back_where_the_client_wants_it():
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
