"""What the user chose for the session outranks what a definition grants."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bridge.store import subagent_runs

if TYPE_CHECKING:
    from hookworld import HookWorld


def granted(world: HookWorld, *rules: str) -> str:
    """An agent with these grants."""
    _, agent = world.working()
    (run,) = world.runs()
    subagent_runs.change(world.store, run, lambda r: r.with_(allow=rules))
    return agent


def test_what_the_user_wants_to_be_asked_about_is_denied(world):
    """Nobody is there to be asked; an allow of ours would override the rule."""
    agent = granted(world, "Write", "Bash(git *)")
    settings = world.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    rules = {"permissions": {"ask": ["Bash(git push:*)", "Write", 7]}}
    settings.write_text(json.dumps(rules))

    def behavior(tool: str, **arguments: str) -> str:
        return str(world.permission(agent, tool, **arguments)["behavior"])

    file = str(world.project / "a")
    asked = [
        behavior("Write", file_path=file, content="x"),
        behavior("Bash", command="git push origin"),
        behavior("Bash", command="git status"),
    ]
    for text in ("{", "[]", '{"permissions": {"ask": 3}}'):
        settings.write_text(text)
        asked.append(behavior("Write", file_path=file, content="x"))

    assert asked == ["deny", "deny", "allow", "allow", "allow", "allow"]


@pytest.mark.parametrize(
    ("mode", "tool", "behavior"),
    [
        ("default", "Write", "allow"),
        ("acceptEdits", "Write", "allow"),
        ("plan", "Write", "deny"),
        ("plan", "Edit", "deny"),
        ("plan", "Bash", "deny"),
        ("plan", "mcp__git__push", "deny"),
        ("plan", "Read", "allow"),
        ("plan", "WebFetch", "allow"),
        ("plan", "Grep", "allow"),
    ],
)
def test_plan_mode_outranks_a_grant(world, mode, tool, behavior):
    """The user's own rule would have asked, too; nobody is there to be asked."""
    agent = granted(world, tool)
    arguments = {
        "file_path": str(world.project / "a"),
        "path": str(world.project),
        "command": "ls",
        "url": "https://example.org/",
        "pattern": "x",
    }

    decision = world.permission(agent, tool, mode, **arguments)

    assert decision["behavior"] == behavior
    assert ("plan mode" in decision.get("message", "")) is (behavior == "deny")
