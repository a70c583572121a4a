"""Hooks that run an agent themselves: `mode: headless`, and a program for `claude`."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fakeclaude import fake_claude, printing, result, trust_folder
from hookworld import INSTALLED, hook_world

from bridge.host.hook_table import HOOKS
from bridge.rules.compiled import compile_rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest
    from hookworld import HookWorld

RULE = """
on_before_tool:
  - name: checks
    when: '"pytest" in command'
    %s
    spawn_agent: {agent: runner, prompt: "Run {{ command }}", block: %s}
"""
RUNNER = """\
mode: headless
prompt: '{{ task }}'
model: haiku
"""
PASSED = {"status": "success", "summary": "4 passed"}
# Works until a file says that it may end.
SLOW = 'echo "$$" >"$here/pid"; while [ ! -e "$here/go" ]; do sleep 0.05; done\n'


def answers(value, **fields):
    return printing(result(structured_output=value, **fields))


HOOK = next(h for h in HOOKS if h.event == "PreToolUse" and h.tools == "bash")
HOOK_WORDS = ["/bin/sh", *INSTALLED.arguments(HOOK)]


@contextmanager
def headless_world(root: Path, patch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    """A session with a rule that gives pytest to a headless agent."""
    with hook_world(root, patch) as made:
        home = made.bridge.settings.home
        (home / "agents").mkdir(mode=0o700, parents=True)
        (home / "agents" / "runner.yaml").write_text(f"name: runner\n{RUNNER}")
        trust_folder(made.home, made.project)
        rule(made)
        yield made


def rule(world, more="", block="true"):
    (world.bridge.settings.home / "rules.yaml").write_text(RULE % (more, block))
    compile_rules(world.bridge.settings, world.store)


def claude(world, monkeypatch, lines):
    program = fake_claude(world.home / "fake", lines)
    monkeypatch.setenv("BRIDGE_CLAUDE", str(program))
    return program.parent


def run(world, command="pytest -q", call="toolu_1", **fields):
    """Call Bash: whether it runs, and what model and user are told."""
    said = world.say(
        "PreToolUse",
        tool_name="Bash",
        tool_input={"command": command},
        tool_use_id=call,
        **fields,
    )
    output = said.get("hookSpecificOutput", {})
    is_denied = output.get("permissionDecision") == "deny"
    reason = output.get("permissionDecisionReason", "")
    return not is_denied, reason + said.get("systemMessage", "")


def responses(world):
    folder = world.store.place.state / "responses"
    return [json.loads(f.read_bytes()) for f in sorted(folder.glob("*.json"))]
