"""What one event opens: the state twice at most, and no file for reading twice.

Counted in the process that answers, by path; no clock is looked at.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hookworld import GOOD, hook_world

BASH = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_b"}


class Opened:
    """Every file and folder that this process opens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._open = os.open
        self.folders: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        monkeypatch.setattr(os, "open", self)

    def __call__(self, path: Any, flags: int, *more: Any, **named: Any) -> int:
        fd = self._open(path, flags, *more, **named)
        found = os.readlink(f"/proc/self/fd/{fd}")
        if flags & os.O_DIRECTORY:
            self.folders[found] += 1
        elif not flags & (os.O_WRONLY | os.O_RDWR):
            # A file that was replaced meanwhile is another one.
            self.read[f"{found} {os.fstat(fd).st_ino}"] += 1
        return fd

    def check(self, state: Path) -> None:
        assert 1 <= self.folders[str(state)] <= 2, self.folders
        # Of a transcript its first record is the prompt, and what it took is all of it.
        ours = [path for path in self.read if "/subagents/" not in path]
        assert [path for path in ours if self.read[path] > 1] == []


@pytest.fixture
def world(tmp_path, monkeypatch):
    with hook_world(tmp_path, monkeypatch) as world:
        world.kind = "local"
        world.answer("PostToolUse", **BASH)
        yield world


def test_a_session_that_starts(world, monkeypatch):
    opened = Opened(monkeypatch)

    assert world.answer("SessionStart", source="resume").stdout

    opened.check(world.store.place.state)


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("UserPromptSubmit", {"prompt": "hello"}),
        ("Stop", {"background_tasks": []}),
        ("PostToolUse", BASH),
        ("FileChanged", {"file_path": "wake"}),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_an_offer(world, monkeypatch, event, fields):
    request = world.submit()
    opened = Opened(monkeypatch)

    output = world.answer(event, **fields)

    opened.check(world.store.place.state)
    assert request in output.stdout.decode() + output.stderr


def test_a_launch(world, monkeypatch):
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    opened = Opened(monkeypatch)

    world.launch(request)

    opened.check(world.store.place.state)


def test_the_first_call_of_an_agent(world, monkeypatch):
    _, _, agent = world.begin()
    opened = Opened(monkeypatch)

    assert world.say("PreToolUse", agent_id=agent, **BASH) == {}

    opened.check(world.store.place.state)


def test_a_valid_answer(world, monkeypatch):
    request, _, agent = world.begin()
    opened = Opened(monkeypatch)

    world.stop(agent, GOOD)

    opened.check(world.store.place.state)
    assert world.code(request) == "success"


def test_the_notice_of_an_end(world, monkeypatch):
    _, _, agent = world.begin()
    world.stop(agent, GOOD)
    opened = Opened(monkeypatch)

    assert world.notice(agent)["decision"] == "block"

    opened.check(world.store.place.state)
