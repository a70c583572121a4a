"""hostbridge is installed again, and again, while the hooks of open sessions fire."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import forkserver
import pytest
from hookprocesses import ROOT, copy_plugin, forking, run_hook
from hookworld import GOOD, HookWorld, hook_world
from thoroughness import is_full

from bridge.host.hook_table import HOOKS, Hook
from bridge.host.settings_edit import ours

pytestmark = pytest.mark.slow

ROUNDS = 4 if is_full() else 2
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
import random, select, sys, time
from bridge.cli.main import run

while not select.select([sys.stdin], [], [], 0)[0]:
    for command in sys.argv[1:]:
        assert run([command]) == 0
        time.sleep(random.uniform(0, 0.05))
"""
# A slow machine is no reason for a request to end.
PATIENT = {"timeout_s": 3_600}
FOREIGN = {"type": "command", "command": "mine"}
MINE = json.dumps({"model": "opus", "hooks": {"Stop": [{"hooks": [FOREIGN]}]}})


@pytest.fixture
def world(tmp_path, monkeypatch):
    with hook_world(tmp_path, monkeypatch) as made:
        yield made


@contextmanager
def repeating(script: str, *arguments: Path | str, cwd: Path) -> Iterator[None]:
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

    def fire(event, script, **fields):
        its = {"form": forking()} | how
        hook = Hook(event, script)
        code, _, stderr = run_hook(hook, world.event(event, **fields), **its)
        assert (code, stderr) == (0, b"")

    request = world.submit(name, **PATIENT)
    fire("UserPromptSubmit", "turn", prompt="hello")
    token = {"description": "b", "prompt": f"bridge:{request}"}
    call = {"tool_name": "Agent", "tool_use_id": name, "tool_input": token}
    fire("PreToolUse", "agent-call", **call)
    agent = world.start(name)
    fire("SubagentStop", "agent-event", agent_id=agent, last_assistant_message=GOOD)
    return world.code(request)


def test_replacing_the_files_blocks_nothing(world, tmp_path):
    """Scripts and package vanish, come back in pieces, and are whole for a moment."""
    request, agent = world.working(**PATIENT)
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
    file = write_settings(world)
    request, agent = world.working(**PATIENT)
    served = set()

    with repeating(INSTALL, "install", cwd=world.project):
        for number in range(ROUNDS):
            assert fire_all(world, file, agent) in (0, len(HOOKS))
            served.add(serve(world, f"during{number}"))

    assert served == {"success"}
    assert world.code(request) is None
    assert not (world.home / ".hostbridge" / "hook-errors.log").exists()


def test_hooks_answer_while_they_come_and_go(world):
    """To uninstall closes the session; what was asked since then waits for another."""
    file = write_settings(world)
    _, agent = world.working(**PATIENT)

    with repeating(INSTALL, "install", "uninstall", cwd=world.project):
        registered = {fire_all(world, file, agent) for _ in range(ROUNDS)}

    assert registered <= {0, len(HOOKS)}
    run_hook(HOOKS[0], world.event("SessionStart", source="resume"))
    assert serve(world, "after") == "success"


def write_settings(world: HookWorld) -> Path:
    file = world.project / ".claude" / "settings.local.json"
    file.parent.mkdir()
    file.write_text(MINE)
    return file


def fire_all(world: HookWorld, file: Path, agent: str) -> int:
    """Fire each hook of ours that the settings have; how many those are."""
    text = file.read_text()
    settings = json.loads(text)
    assert settings["model"] == "opus"
    assert settings["hooks"]["Stop"][0] == {"hooks": [FOREIGN]}
    found = ours(text, str(file))
    for each in found:
        who = {"agent_id": agent} if each["event"] == "PreToolUse" else {}
        event = world.event(each["event"], **EVENT, **who)
        command = each["command"]
        python = {sys.executable: forkserver.hook_python()}
        done = subprocess.run(
            [command["command"], *(python.get(arg, arg) for arg in command["args"])],
            input=json.dumps(event).encode(),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), each
        assert not done.stdout or json.loads(done.stdout)
    return len(found)
