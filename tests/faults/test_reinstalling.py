"""hostbridge is installed again, and again, while the hooks of open sessions fire."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hookprocesses import ROOT, copy_plugin, run_hook
from hookworld import GOOD, HookWorld, hook_world

from bridge.host.hook_table import HOOKS, Hook
from bridge.host.settings_edit import ours

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

ROUNDS = 6
BASH = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls"}}
# Of sessions and tools alike; the process goes on after each.
EVENT = {"source": "resume", "reason": "clear", "prompt": "hello", **BASH}
# Until its stdin is closed: everything vanishes, comes back piece by piece, and stays
# for as long as a hook or two need.
REPLACE = """
import random, select, shutil, sys, time
from pathlib import Path

copy, *parts = map(Path, sys.argv[1:])
while not select.select([sys.stdin], [], [], 0)[0]:
    for part in parts:
        # A hook may write its bytecode in the middle of it.
        shutil.rmtree(copy / part.name, ignore_errors=True)
        time.sleep(random.uniform(0, 0.1))
        shutil.copytree(part, copy / part.name, dirs_exist_ok=True)
    time.sleep(random.uniform(0, 0.8))
"""
INSTALL = """
import select, sys
from bridge.cli.main import run

while not select.select([sys.stdin], [], [], 0)[0]:
    for command in (["install"], ["install"], ["uninstall"]):
        assert run(command) == 0
"""
FOREIGN = {"type": "command", "command": "mine"}
MINE = json.dumps({"model": "opus", "hooks": {"Stop": [{"hooks": [FOREIGN]}]}})


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    with hook_world(tmp_path, monkeypatch) as made:
        yield made


@contextmanager
def repeating(script: str, *arguments: Path, cwd: Path) -> Iterator[None]:
    """Run a script over and over beside the block; it must not fail."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
        assert process.poll() is None
    finally:
        process.communicate(timeout=300)
    assert process.returncode == 0


def serve(world: HookWorld, name: str, **how: Any) -> str | None:
    """Have hook processes serve a request; how it ended."""

    def fire(event: str, script: str, **fields: Any) -> None:
        code, _, stderr = run_hook(
            Hook(event, script), world.event(event, **fields), **how
        )
        assert (code, stderr) == (0, b"")

    request = world.submit(name)
    fire("UserPromptSubmit", "turn", prompt="hello")
    token = {"description": "b", "prompt": f"bridge:{request}"}
    call = {"tool_name": "Agent", "tool_use_id": name, "tool_input": token}
    fire("PreToolUse", "agent-call", **call)
    agent = world.start(name)
    fire("SubagentStop", "agent-event", agent_id=agent, last_assistant_message=GOOD)
    return world.code(request)


def test_replacing_the_files_blocks_nothing(world, tmp_path):
    """Scripts and package vanish, come back in pieces, and are whole for a moment."""
    request, agent = world.working()
    run_hook(HOOKS[0], world.event("SessionStart", source="resume"))
    copy = tmp_path / "plugin"
    form = copy_plugin(copy, world)
    introduced, ended = set(), set()

    with repeating(REPLACE, copy, ROOT / "hooks", ROOT / "bridge", cwd=tmp_path):
        for number in range(20 * ROUNDS):
            # Some of them are to meet the package, and some not.
            if number >= ROUNDS and introduced == {True, False}:
                break
            for hook in HOOKS:
                event = world.event(hook.event, **EVENT)
                code, stdout, _ = run_hook(hook, event, form)
                ended.add((code, b'"deny"' in stdout, b'"block"' in stdout))
                if hook.event == "SessionStart":
                    introduced.add(b"additionalContext" in stdout)
            tool = Hook("PreToolUse", "tool-start")
            code, stdout, _ = run_hook(
                tool, world.event(tool.event, agent_id=agent, **BASH), form
            )
            ended.add((code, False, False))
            said = json.loads(stdout)["hookSpecificOutput"] if stdout else {}
            assert said.get("permissionDecision", "deny") == "deny"

    assert ended == {(0, False, False)}
    assert introduced == {True, False}
    assert world.code(request) is None
    assert serve(world, "after", form=form) == "success"


def test_hooks_answer_while_they_are_installed(world):
    """The settings are whole at each moment, and so is what hooks say."""
    file = world.project / ".claude" / "settings.local.json"
    file.parent.mkdir()
    file.write_text(MINE)
    request, agent = world.working()
    registered, served = set(), set()

    with repeating(INSTALL, cwd=world.project):
        for number in range(ROUNDS):
            text = file.read_text()
            settings = json.loads(text)
            assert settings["model"] == "opus"
            assert settings["hooks"]["Stop"][0] == {"hooks": [FOREIGN]}
            found = ours(text, str(file))
            registered.add(len(found))
            for each in found:
                who = {"agent_id": agent} if each["event"] == "PreToolUse" else {}
                event = world.event(each["event"], **EVENT, **who)
                command = each["command"]
                done = subprocess.run(
                    [command["command"], *command["args"]],
                    input=json.dumps(event).encode(),
                    capture_output=True,
                    check=False,
                )
                assert (done.returncode, done.stderr) == (0, b""), each
                assert not done.stdout or json.loads(done.stdout)
            served.add(serve(world, f"during{number}"))

    assert registered <= {0, len(HOOKS)}
    assert served == {"success"}
    assert world.code(request) is None
    assert not (world.home / ".hostbridge" / "hook-errors.log").exists()
