"""Hooks as processes, as the client starts them: one, or every one at once."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import forkserver
from hookworld import HookWorld

import bridge
from bridge.host.hook_table import HOOKS, Form, Hook, form_of
from bridge.policy.tool_classes import MESSAGE

ROOT = Path(bridge.__file__).parents[1]
INSTALLED = form_of("local", ROOT / "hooks", sys.executable)
EVENTS = {hook.event for hook in HOOKS}


def _id(hook: Hook) -> str:
    has_classes = hook.script.startswith("tool-")
    tools = f":{hook.tools}" if has_classes else hook.condition or ""
    if hook.matcher == MESSAGE:
        tools = f":{MESSAGE}"
    return f"{hook.event}:{hook.script}{tools}"


IDS = [_id(hook) for hook in HOOKS]
# After this a hook counts as one that hangs.
TIMEOUT_S = 120


def forking() -> Form:
    """As `INSTALLED`, but the interpreter is forked, unless the test starts one."""
    return replace(INSTALLED, python=forkserver.hook_python())


def words(
    hook: Hook, *, form: Form | None = None, below: tuple[str, ...] = ()
) -> list[str]:
    """The command that runs a hook; without a form, it forks where it can.

    `below` is a program that runs the hook, with its arguments: a fork would not be in
    what that makes.
    """
    form = form or (INSTALLED if below else forking())
    return [*below, "/bin/sh", *form.arguments(hook)]


def copy_plugin(folder: Path, acts_for: HookWorld | None = None) -> Form:
    """Make a copy of hooks and package, as a plugin, which may act for a session."""
    for name in ("agents", "bridge", "hooks"):
        shutil.copytree(ROOT / name, folder / name)
    if acts_for is not None:
        (pin,) = (acts_for.home / ".hostbridge/pins").iterdir()
        (pin / "by-local").rename(pin / "by-plugin")
    form = form_of("local", folder / "hooks", sys.executable)
    return replace(form, kind="plugin")


def run_hook(
    hook: Hook,
    event: dict[str, Any] | bytes,
    form: Form | None = None,
    *,
    below: tuple[str, ...] = (),
    **how: Any,
) -> tuple[int, bytes, bytes]:
    """Run a hook as the client does; its exit code, stdout and stderr."""
    done = subprocess.run(
        words(hook, form=form, below=below),
        input=event if isinstance(event, bytes) else json.dumps(event).encode(),
        capture_output=True,
        timeout=300,
        check=False,
        **how,
    )
    return done.returncode, done.stdout, done.stderr


def examples(world: HookWorld, **fields: object) -> dict[str, bytes]:
    """An event of each kind, with what any of them may hold."""
    every = {
        "source": "startup",
        "reason": "other",
        "prompt": "hello",
        "agent_id": "agent1",
        "tool_name": "Agent",
        "tool_use_id": "toolu_1",
        "tool_input": {"description": "b", "prompt": "bridge:r-1"},
        "last_assistant_message": "{}",
        "background_tasks": [],
        "a_new_field": {"x": [1]},
    }
    return {
        event: json.dumps(world.event(event, **every | fields)).encode()
        for event in EVENTS
    }


def start(command: list[str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)


def run_all(
    events: dict[str, bytes], below: tuple[str, ...] = ()
) -> dict[str, tuple[int, bytes, bytes]]:
    """Run every hook with its event, all at once; exit code, stdout and stderr."""
    started = {
        name: (start(words(hook, below=below)), events[hook.event])
        for name, hook in zip(IDS, HOOKS, strict=True)
    }
    ended = {}
    for name, (process, data) in started.items():
        stdout, stderr = process.communicate(data, timeout=TIMEOUT_S)
        ended[name] = (process.returncode, stdout, stderr)
    return ended


def assert_harmless(ended: dict[str, tuple[int, bytes, bytes]]) -> None:
    """At most one JSON object, nothing blocked, nothing on the user's screen."""
    for name, (code, stdout, stderr) in ended.items():
        if name == "FileChanged:bell" and stderr.startswith(b"hostbridge: call Agent"):
            # A wake, which is meant.
            continue
        assert (name, code, stderr) == (name, 0, b"")
        output = json.loads(stdout) if stdout else {}
        assert output.get("continue", True), name
        assert "decision" not in output, name


def register(world: HookWorld) -> None:
    """Have the hooks see the session: from here on they act for it."""
    event = world.event("UserPromptSubmit")
    run_hook(Hook("UserPromptSubmit", "turn"), event, forking())


def run_all_harmlessly(world: HookWorld, below: tuple[str, ...] = ()) -> None:
    """Run every hook with an event of its kind; none does any harm."""
    assert_harmless(run_all(examples(world), below))
