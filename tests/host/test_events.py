"""Hook events as the client sends them, and how it was started."""

import json

import pytest

from bridge.host.events import HookEvent
from bridge.host.registration import is_one_shot


def test_event_fields_of_the_wrong_type_are_absent():
    raw = {"hook_event_name": 7, "tool_input": "x", "background_tasks": [{"id": 1}, 2]}

    event = HookEvent.parse(json.dumps(raw).encode())

    assert (event.name, event.table("tool_input")) == ("", {})
    assert event.background_ids == frozenset()


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"{", b"[" * 100_000, b"\xff\xfe"]
)
def test_what_is_no_event_is_none(data):
    assert HookEvent.parse(data) is None


def test_text_that_has_no_bytes_is_replaced():
    """Lone surrogates and bytes that are not UTF-8 come from files of the user."""
    data = b'{"prompt": "a\\ud800b", "cwd": "/\xff"}'

    event = HookEvent.parse(data)

    assert (event.text("prompt"), event.text("cwd")) == ("a\ufffdb", "/\ufffd")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-p", "hello"], True),
        (["--print", "hello", "--output-format", "json"], True),
        (["-p", "--input-format", "stream-json"], False),
        (["-p", "--input-format=stream-json"], False),
        (["-p", "explain --input-format stream-json"], True),
        (["--permission-mode", "auto"], False),
        ([], False),
    ],
)
def test_a_client_that_answers_one_prompt(arguments, *, expected):
    assert is_one_shot(arguments) is expected
