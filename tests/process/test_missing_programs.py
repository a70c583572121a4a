"""A program of ours that is not there is told in words, wherever we start one.

An environment may be removed, or replaced by a newer Python, while it is in use.
"""

import sys
from pathlib import Path

import pytest

from bridge.agent_loop.chat_model import ModelFailed
from bridge.doctor.mcp import tools_of
from bridge.llama import local_model
from bridge.process.detached import start_detached
from bridge.store import host_process
from bridge.store.location import Place

PLACE = Place.of_words(["/nonexistent", "/nonexistent", "/nonexistent", "", None])


def load_model():
    with pytest.raises(ModelFailed, match="its process cannot be started: no such"):
        local_model._started({})


STARTED = {
    "by itself": lambda: start_detached(PLACE, "a.module") is False,
    "MCP server": lambda: tools_of(["/nonexistent"], Path("/"), {}) == [],
    "ps": lambda: host_process._ask("/nonexistent") == "",
    "model": lambda: load_model() is None,
}


@pytest.mark.parametrize("name", STARTED)
def test_what_is_missing_is_no_crash(monkeypatch, name):
    monkeypatch.setattr(sys, "executable", "/nonexistent")

    assert STARTED[name]()
