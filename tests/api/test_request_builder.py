"""What a program asks becomes a request."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bridge as package
from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.api.options import RequestOptions
from bridge.config import Settings
from bridge.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED = {
    "model": "haiku",
    "priority": "high",
    "arguments": {"a": 1},
    "variables": {"b": "2"},
    "task_id": "task",
    "dedup_key": "key",
    "session": "session-1",
    "answer_to_host": True,
}


def test_every_option_is_tested_here():
    """An option that is not passed on would be ignored silently."""
    elsewhere = {"schema", "timeout_s", "node", "route"}

    assert RequestOptions.__optional_keys__ == {*ASKED, *elsewhere}


@pytest.mark.parametrize(
    ("way", "option"), [("ask", "modle"), ("submit", "on_stage"), ("ask", "request_id")]
)
@pytest.mark.parametrize("kind", [Bridge, AsyncBridge])
def test_error_an_option_that_does_not_exist(tmp_path, kind, way, option):
    """Python itself does not check the names."""
    bridge: Any = Bridge(Settings(home=tmp_path / "home"), tmp_path)
    if kind is AsyncBridge:
        bridge = AsyncBridge(bridge)

    def call() -> None:
        awaited = getattr(bridge, way)("Which?", **{option: None})
        asyncio.run(awaited)

    with pytest.raises(TypeError) as caught:
        call()

    assert str(caught.value) == f"{way}() got an unexpected keyword argument {option!r}"
    assert not (tmp_path / "home").exists()


def test_type_checkers_of_users_see_our_types():
    assert (Path(package.__file__).parent / "py.typed").is_file()


def test_every_option_reaches_the_request(tmp_path):
    bridge = Bridge(Settings(home=tmp_path / "home"), tmp_path)
    (tmp_path / "code.py").write_text("def f():\n    return 1\n")

    request_id = bridge.submit(
        "Which?",
        "researcher",
        schema={"type": "integer"},
        timeout_s=7.5,
        node="code.py::f",
        request_id="mine",
        **ASKED,  # type: ignore[arg-type]
    )

    asked = bridge.status(request_id).request
    assert asked is not None
    assert asked.node is not None
    assert (request_id, asked.prompt, asked.agent_type) == (
        "mine",
        "Which?",
        "researcher",
    )
    assert (asked.answer_schema, asked.timeout) == ({"type": "integer"}, 7500)
    assert asked.node.text == "def f():\n    return 1"
    again = bridge.status(bridge.submit("Which?", node=asked.node)).request
    assert again is not None
    assert again.node == asked.node
    assert {name: getattr(asked, name) for name in ASKED} == ASKED


@pytest.mark.parametrize(
    ("argument", "name"),
    [("/usr/bin/tool.py", "tool.py"), ("-c", "python"), ("", "python")],
)
def test_the_requester_is_the_program(tmp_path, monkeypatch, argument, name):
    bridge = Bridge(Settings(home=tmp_path / "home"), tmp_path)
    monkeypatch.setattr("sys.argv", [argument, "other.py"])

    asked = bridge.status(bridge.submit("Which?")).request

    assert asked is not None
    assert asked.requester == f"{name} (pid {os.getpid()})"


WRONG: dict[str, tuple[Callable[[Bridge], object], str]] = {
    "prompt": (lambda b: b.submit(b"x"), "prompt b'x': expected text"),  # type: ignore[arg-type]
    "agent": (lambda b: b.submit("x", None), "agent None: expected text"),  # type: ignore[arg-type]
    "priority": (
        lambda b: b.submit("x", priority=1),  # type: ignore[arg-type]
        "priority 1: expected one of high, normal, low",
    ),
    "timeout": (
        lambda b: b.submit("x", timeout_s="abc"),  # type: ignore[arg-type]
        "timeout 'abc': expected a number of seconds",
    ),
    "wait": (
        lambda b: b.wait("x", timeout_s=None),  # type: ignore[call-overload]
        "timeout None: expected a number of seconds",
    ),
    "for ever": (
        lambda b: b.submit("x", timeout_s=10**400),
        f"timeout 1{'0' * 59}: expected a number of seconds",
    ),
    "route": (
        lambda b: b.ask("x", route="host", fallback="host", fallback_after_s=1),
        "fallback 'host': expected one of claude, local, endpoint",
    ),
    "no id": (
        lambda b: b.wait(None),  # type: ignore[call-overload]
        "request id None: expected 1 to 128 of A-Z a-z 0-9 _ -",
    ),
    "id": (
        lambda b: b.cancel(5),  # type: ignore[arg-type]
        "request id 5: expected 1 to 128 of A-Z a-z 0-9 _ -",
    ),
    "ids": (
        lambda b: b.wait([5]),  # type: ignore[call-overload]
        "request id 5: expected 1 to 128 of A-Z a-z 0-9 _ -",
    ),
    "words": (
        lambda b: b.respond("x", {}),  # type: ignore[arg-type]
        "words {}: expected text",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_error_a_value_of_the_wrong_type(tmp_path, name):
    """A program without a type checker gets our error, and nothing is asked."""
    bridge = Bridge(Settings(home=tmp_path / "home"), tmp_path)
    call, message = WRONG[name]

    with pytest.raises(InvalidRequest) as caught:
        call(bridge)

    assert str(caught.value) == message
