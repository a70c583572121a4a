"""What a tool call gave back, in every form in which the client tells it."""

import json
from typing import Any

import pytest

from bridge.policy.step_workflow import output_of

OURS = "mcp__hostbridge__validate_task"
VERDICT = {"passed": False, "feedback": ["no test"]}


def after(response: object, tool: str = OURS) -> Any:
    event = {"hook_event_name": "PostToolUse", "tool_name": tool}
    return output_of({**event, "tool_response": response})


def text(value: object) -> dict[str, Any]:
    return {"type": "text", "text": json.dumps(value)}


RESPONSES = [
    [text(VERDICT)],
    {"content": [text(VERDICT)]},
    {"content": [{"type": "text", "text": "see"}], "structuredContent": VERDICT},
    json.dumps(VERDICT),
    [{"type": "image", "data": "…"}, text(VERDICT)],
]


@pytest.mark.parametrize("response", RESPONSES)
def test_a_servers_json_is_parsed(response):
    assert after(response) == VERDICT


NO_JSON = [
    ([{"type": "text", "text": "all good"}], "all good"),
    ([{"type": "text", "text": "{half"}], "{half"),
    ([{"type": "text", "text": "[" * 100_000}], "[" * 100_000),
    ([{"type": "text", "text": "7"}], "7"),
    ([text([1]), {"type": "text", "text": "b"}], [[1], "b"]),
    ([], []),
    ([{"type": "text", "text": 3}, None], []),
    ({"moved": True}, {"moved": True}),
    (7, 7),
    (None, None),
]


@pytest.mark.parametrize(("response", "found"), NO_JSON)
def test_what_is_no_json_stays_what_it_is(response, found):
    assert after(response) == found


def test_other_tools_answer_with_their_own_form():
    bash = {"stdout": '{"a": 1}', "stderr": "", "interrupted": False}

    assert (after(bash, "Bash"), after('{"a": 1}', "Bash")) == (bash, '{"a": 1}')


def test_a_failure_is_its_error():
    event = {"hook_event_name": "PostToolUseFailure", "tool_name": OURS}

    assert output_of({**event, "error": "Exit code 3"}) == {"error": "Exit code 3"}
    assert output_of(event) == {"error": None}


@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit", None])
def test_other_events_have_no_result(event):
    assert output_of({"hook_event_name": event, "tool_response": 1}) is None


def test_a_tool_of_ours_is_asked_by_either_name():
    """Public files ask for `is_valid`, where our JSON has `isValid`."""
    given = {"isValid": True, "tasks": [{"closedChildren": 2}]}
    old = {"is_valid": True, "tasks": [{"closedChildren": 2, "closed_children": 2}]}

    assert after([text(given)]) == given | old
    assert after([text(given)], "mcp__other__get") == given
