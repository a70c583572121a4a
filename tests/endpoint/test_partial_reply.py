"""A streamed reply: only a whole one counts, and only in the form of the API."""

import pytest
from scripted_server import Talk, ask, connect, failure, say, send, trickle

pytestmark = pytest.mark.slow


def refuse(talk: Talk, _) -> None:
    talk.begin()
    talk.chunk(refusal="I cannot ")
    talk.chunk(refusal="do that")
    talk.chunk(finish="stop")
    talk.end()


def break_off(talk: Talk, _) -> None:
    talk.begin()
    talk.chunk(content='{"a": ')


def not_json(talk: Talk, _) -> None:
    talk.begin()
    talk.wfile.write(b"data: {not json\n\n")


LONG = say('{"a": "xx', finish="length")
FILTERED = say("{}", finish="content_filter")


@pytest.mark.parametrize(
    "thoughts",
    [
        "",
        '<think>\nPerhaps {"a": "no"}, or [1]?\n</think>\n\n',
        '\n<Thinking>{"a": "no"}</Thinking>',
        'Perhaps {"a": "no"}?</think>',
    ],
    ids=["none", "think", "thinking", "opened in the prompt"],
)
def test_thoughts_before_a_reply_are_no_part_of_it(server, thoughts):
    """Two JSON values were no reply, and each costs another turn."""
    reply = '{"a": "<think>x</think>"}'

    assert ask(connect(server, say(thoughts[:9], thoughts[9:], reply))).text == reply


@pytest.mark.parametrize(
    ("act", "code", "message"),
    [
        (refuse, "agent_error", "the model refused: I cannot do that"),
        (break_off, "agent_error", "the reply broke off"),
        (LONG, "too_long", "the reply is longer than its limit"),
        (FILTERED, "agent_error", "the server's filter ended the reply"),
        (say(" "), "empty_answer", "the reply is empty"),
        (say("Hi. " * 60), "no_json", f"the reply is not JSON: {'Hi. ' * 50!r}"),
        (say('{"a": 1, "a": 2}'), "no_json", "the reply is not JSON: "),
        (not_json, "agent_error", "JSONDecodeError: "),
    ],
    ids=[
        *("refusal", "broken-off", "length", "filter"),
        *("empty", "prose", "key-twice", "chunk-is-not-json"),
    ],
)
def test_error_no_whole_reply(server, act, code, message):
    found = failure(connect(server, act))

    assert found[0] == code
    assert found[1].startswith(message)


def chunk(delta) -> dict:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    "event",
    [
        chunk({"content": 5}),
        chunk({"content": [{"type": "text", "text": "{}"}]}),
        chunk({"content": {"a": 1}}),
        chunk({"refusal": 5}),
        chunk("{}"),
        {"choices": {"a": 1}},
        {"choices": "abc"},
        {"choices": 7},
        {"choices": [7]},
    ],
    ids=str,
)
def test_error_a_chunk_of_another_form(server, event):
    """The client does not check it."""
    expected = ("agent_error", "the server's reply does not have the form of the API")
    assert failure(connect(server, send(event))) == expected


@pytest.mark.parametrize(
    ("usage", "prompt_tokens"),
    [
        ("many", 0),
        ({"prompt_tokens": "many", "completion_tokens": "few"}, 0),
        ({"prompt_tokens": -5, "completion_tokens": -3}, 0),
        ({"prompt_tokens": 2**31, "completion_tokens": 1.5}, 0),
        ({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": []}}, 1),
    ],
)
def test_implausible_usage_is_ignored(server, usage, prompt_tokens):
    """The answer counts all the same; its chunks are counted instead of tokens."""
    event = {**chunk({"content": "{}"}), "usage": usage}

    reply = ask(connect(server, send(event)))

    counts = (reply.prompt_tokens, reply.cached_tokens, reply.tokens)
    assert (reply.text, counts) == ("{}", (prompt_tokens, 0, 1))


EXACT = say("{  ", "}")


@pytest.mark.parametrize("act", [EXACT, say("{   ", "}"), trickle])
def test_a_reply_may_have_exactly_its_limit(server, monkeypatch, act):
    """And is ended there, if it has no end of its own."""
    monkeypatch.setattr("bridge.endpoint.partial_reply._MAX_REPLY_CHARS", 4)
    endpoint = connect(server, act)

    if act is EXACT:
        assert ask(endpoint).text == "{  }"
    else:
        assert failure(endpoint) == ("too_long", "the reply has over 4 characters")
