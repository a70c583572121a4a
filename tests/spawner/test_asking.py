"""From what a program asks to a request."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING

import pytest

from bridge.config import Settings
from bridge.spawner.asking import Question
from bridge.spawner.bridge import Bridge

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize("way", ["ask", "submit"])
def test_a_question_has_what_one_may_ask_with(way: str) -> None:
    """An argument that is not handed on would be ignored, and nobody would say so."""
    names = {field.name for field in dataclasses.fields(Question)}
    if way == "ask":
        names.remove("request_id")

    taken = set(inspect.signature(getattr(Bridge, way)).parameters)

    how = {"self", "route", "fallback_after_s", "on_stage", "on_progress"}
    assert taken - how == names


def test_what_is_asked_is_in_the_request(tmp_path: Path) -> None:
    bridge = Bridge(Settings(home=tmp_path / "home"), tmp_path)
    (tmp_path / "code.py").write_text("def f():\n    return 1\n")

    request_id = bridge.submit(
        "Which?",
        "Explore",
        schema={"type": "integer"},
        timeout_s=7.5,
        node="code.py::f",
        request_id="mine",
        **ASKED,  # type: ignore[arg-type]
    )

    asked = bridge.status(request_id).request
    assert asked is not None
    assert asked.node is not None
    assert (request_id, asked.prompt, asked.agent_type) == ("mine", "Which?", "Explore")
    assert (asked.answer_schema, asked.timeout) == ({"type": "integer"}, 7500)
    assert asked.node.text == "def f():\n    return 1"
    assert {name: getattr(asked, name) for name in ASKED} == ASKED
