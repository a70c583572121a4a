"""The scripted API, asked by hand."""

import http.client
import json
from typing import Any

import pytest

from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.replies import error, reply
from bridge.testing.stage.turns import AGENT_HEADER, ApiRequest

BASH = {"name": "Bash", "input_schema": {"type": "object"}}


def says(words):
    return {"messages": [{"role": "user", "content": words}]}


ASKS = {"tools": [BASH], **says("hello")}


def request(body: dict[str, Any], headers: dict[str, str] | None = None) -> ApiRequest:
    """Make a request as the server would."""
    return ApiRequest(0, "POST", "/v1/messages", headers or {}, body, 0)


def test_close_does_not_wait_for_delayed_replies():
    """A test that is over must not wait for a subagent that was to be slow."""
    api = ScriptedApi(lambda _: reply("late", delay_s=36_000))
    asked = http.client.HTTPConnection("127.0.0.1", api.port)
    asked.request("POST", "/v1/messages", json.dumps(ASKS))
    api.wait_for(lambda request: request.role == "main")

    api.close()

    with pytest.raises(http.client.RemoteDisconnected):
        asked.getresponse()
    asked.close()


def test_a_script_that_raises_is_reported(post):
    """A mistake in a thread would otherwise look like a client that hangs."""

    def script(_: ApiRequest) -> Any:
        raise KeyError("oops")

    api = ScriptedApi(script)
    status, _ = post(api, ASKS)

    assert status == 500
    with pytest.raises(ExceptionGroup) as caught:
        api.close()
    assert [repr(each) for each in caught.value.exceptions] == ["KeyError('oops')"]


def test_wait_for_says_what_did_not_come(post):
    """A test that fails by time-out should not need a debugger."""
    with ScriptedApi(lambda _: reply("ok")) as api:
        post(api, ASKS)

        with pytest.raises(TimeoutError) as caught:
            api.wait_for(lambda request: request.role == "subagent", timeout_s=0.05)

    assert str(caught.value) == "no such request within 0.05 s; 1 others came"


def test_other_paths_get_a_harmless_answer(post):
    """The client counts tokens and lists models when it likes to."""
    with ScriptedApi(lambda _: reply("ok")) as api:
        counted = post(api, {"messages": []}, path="/v1/messages/count_tokens")
        other = post(api, {}, path="/api/anything")

    assert json.loads(counted[1]) == {"input_tokens": 7}
    assert other == (200, b"{}")


def test_as_a_proxy_it_lets_nothing_through():
    """The client of a test must not leave this machine, and we want to know."""
    with ScriptedApi(lambda _: reply("ok")) as api:
        for stray in ("CONNECT example.org:443", "GET http://example.org/a"):
            asked = http.client.HTTPConnection("127.0.0.1", api.port)
            asked.request(*stray.split())
            assert asked.getresponse().status == 403
            asked.close()

    assert api.strays == ["CONNECT example.org:443", "GET http://example.org/a"]


SUMMARY = "Respond with an <analysis> block followed by a <summary> block."


OF_AGENT = {AGENT_HEADER: "a1"}
FORCED = ASKS | {"tool_choice": {"type": "tool", "name": "Bash"}}
ROLES = {
    "main": (ASKS, {}, "main"),
    "subagent": (ASKS, OF_AGENT, "subagent"),
    "no tools": ({"messages": []}, {}, "side"),
    "warm-up": ({**ASKS, "max_tokens": 1}, {}, "side"),
    "forced tool": (FORCED, OF_AGENT, "side"),
    "compaction": (ASKS | says(SUMMARY), {}, "side"),
}


@pytest.mark.parametrize(("body", "headers", "role"), ROLES.values(), ids=ROLES)
def test_role(body, headers, role):
    """A script must see turns only, or it answers a title with a tool call."""
    assert request(body, headers).role == role


TITLE = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "tags": {"type": "array"}},
    "required": ["title", "tags"],
}


JSON = {"output_config": {"format": {"type": "json_schema", "schema": TITLE}}}
SUMMARIZED = "<analysis>none</analysis>\n<summary>a stage</summary>"
SIDE = {
    "anything": ({}, "ok"),
    "JSON": (JSON, '{"title": "stage", "tags": []}'),
    "by severity": (says("Say <severity>N</severity>"), "<severity>0</severity>"),
    "review by verdict": (says("<block>yes</block> or no?"), "<block>no</block>"),
    "compaction": (says(SUMMARY), SUMMARIZED),
}


@pytest.mark.parametrize(("body", "text"), SIDE.values(), ids=SIDE)
def test_side_requests_are_answered_without_a_script(post, body, text):
    """A script for turns should not have to know of them."""
    with ScriptedApi(lambda _: error(500, "api_error", "not for me")) as api:
        _, answer = post(api, {"messages": [], **body})

    assert json.loads(answer)["content"] == [{"type": "text", "text": text}]


def test_a_forced_tool_is_called(post):
    """The client reads its arguments and would ask again without them."""
    tool = {"name": "title", "input_schema": TITLE}
    body = {"tools": [tool], "tool_choice": {"type": "tool", "name": "title"}}

    with ScriptedApi(lambda _: error(500, "api_error", "not for me")) as api:
        _, answer = post(api, {"messages": [], **body})

    (call,) = json.loads(answer)["content"]
    assert (call["name"], call["input"]) == ("title", {"title": "stage", "tags": []})
