"""Hooks that run an agent themselves: `mode: headless`, and a program for `claude`."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from hookprocesses import words
from hookworld import HookWorld, hook_world
from rulehooks import put_in_force

from bridge.host.hook_table import HOOKS

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


@contextmanager
def headless_world(root: Path, patch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    """A session with a rule that gives pytest to a headless agent."""
    with hook_world(root, patch) as made:
        made.define("runner", RUNNER)
        trust_folder(made.home, made.project)
        rule(made)
        yield made


def rule(world, more="", block="true"):
    put_in_force(world, RULE % (more, block))


def claude(world, monkeypatch, lines):
    program = fake_claude(world.home / "fake", lines)
    monkeypatch.setenv("BRIDGE_CLAUDE", str(program))
    return program.parent


def started_hook(world, form=None):
    """A process of the hook that sees `pytest -q`, at the head of its own group."""
    call = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}}
    event = world.event("PreToolUse", **call, tool_use_id="toolu_1")
    hook = subprocess.Popen(
        words(HOOK, form=form),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    hook.stdin.write(json.dumps(event).encode())
    hook.stdin.close()
    return hook


def responses(world):
    folder = world.store.place.state / "responses"
    return [json.loads(f.read_bytes()) for f in sorted(folder.glob("*.json"))]
