"""An interpreter that cannot start, or comes to no end, blocks nothing.

Python ends with 2 on an option that it does not know and on a script that is not there,
and 2 is what a client takes for "block". What our own agents ask is denied then, and so
is a call that names a request; the user's own calls go through.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hookprocesses import ROOT, copy_plugin, register, run_hook
from hookworld import hook_world
from polling import wait_until
from thoroughness import crossed, is_full

from bridge.host.hook_table import HOOKS, Form, Hook, form_of
from bridge.rules.compiled import compile_rules
from bridge.testing.stage.processes import is_alive

pytestmark = pytest.mark.slow

PATIENCE_S = 30
Ended = tuple[int, bytes, bytes]

BROKEN = {
    "missing": None,
    "refuses -P": 'echo "Unknown option: -P" >&2; exit 2',
    "ends with 2": "exit 2",
    "ends with 2, having read": "cat >/dev/null; exit 2",
    "is killed": "kill -9 $$",
    "is stopped by a signal": "kill -TERM $$",
    "is no program": "\x7fELF",
    "says what is no JSON": "echo; echo hello; exit 1",
}

TOOLS = ("Agent", "Bash", "Write", "mcp__a__b", "SubagentHandback")
LS = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls"}}
SILENT = [how for how in BROKEN if not how.startswith("says")]
# The hooks that may refuse a command.
ASKED = {
    hook.event: hook
    for hook in HOOKS
    if (hook.script == "tool-start" and hook.tools == "bash")
    or hook.event == "PermissionRequest"
}


@pytest.fixture
def world(tmp_path, monkeypatch):
    """An agent of ours works, and a request waits that was offered."""
    with hook_world(tmp_path, monkeypatch) as made:
        # No other hostbridge is to be found there.
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        register(made)
        yield made


def stand_in(folder: Path, text: str | None) -> Path:
    """A file where the interpreter should be."""
    python = folder / "python"
    if text is not None:
        python.write_text(text if text[0] == "\x7f" else f"#!/bin/sh\n{text}\n")
        python.chmod(0o755)
    return python


def with_python(python: Path) -> Form:
    """An install whose interpreter is this one."""
    return form_of("local", ROOT / "hooks", str(python))


def denied(ended: Ended) -> bool:
    code, stdout, stderr = ended
    assert (code, stderr) == (0, b"")
    if not stdout:
        return False
    said = json.loads(stdout)["hookSpecificOutput"]
    decision = said.get("decision", {}).get("behavior")
    return "deny" in (said.get("permissionDecision"), decision)


@pytest.mark.parametrize("how", BROKEN)
def test_no_hook_blocks(world, tmp_path, how):
    """Each event, each tool: the bell may end with 2, and only a handler has it so."""
    world.begin()
    world.submit()
    form = with_python(stand_in(tmp_path, BROKEN[how]))

    for number, hook in enumerate(HOOKS, [*BROKEN].index(how)):
        # All of its broken interpreters together show a hook each tool.
        for tool in TOOLS if is_full() else [TOOLS[number % len(TOOLS)]]:
            event = world.event(
                hook.event,
                source="startup",
                prompt="hello",
                tool_name=tool,
                tool_use_id="toolu_1",
                tool_input={"prompt": "look for bridge: in the code", "command": "ls"},
            )
            code, stdout, stderr = run_hook(hook, event, form)

            # The stand-in that has read the event leaves nothing to tell it by.
            unknown = how == "ends with 2, having read" and hook.event in (
                "PreToolUse",
                "PreSkillShellCommand",
                "PermissionRequest",
            )
            if hook.event != "FileChanged":
                assert stderr == b"", (hook, tool)
            assert code == 0, (hook, tool, stdout)
            assert unknown or b"deny" not in stdout, (hook, tool)


@pytest.mark.parametrize(("how", "event"), crossed(SILENT, ASKED))
def test_an_agent_of_ours_is_denied(world, tmp_path, how, event):
    """Seen before or not, and whatever is left of its record."""
    _, _, agent = world.begin()
    asked = world.event(event, agent_id=agent, **LS)
    form = with_python(stand_in(tmp_path, BROKEN[how]))

    unseen = run_hook(ASKED[event], asked, form)
    world.fire("PreToolUse", agent_id=agent, **LS)
    seen = run_hook(ASKED[event], asked, form)

    assert (denied(unseen), denied(seen)) == (True, True)


@pytest.mark.parametrize("how", [each for each in SILENT if "having" not in each])
def test_a_token_that_cannot_be_filled_in_is_denied(world, tmp_path, how):
    """An agent that got it for a prompt would run unmanaged."""
    hook = next(h for h in HOOKS if h.script == "agent-call")
    request = world.submit()
    form = with_python(stand_in(tmp_path, BROKEN[how]))

    def call(name):
        asked = {"description": "b", "prompt": f"bridge:{name}"}
        event = world.event("PreToolUse", tool_name="Agent", tool_input=asked)
        return denied(run_hook(hook, event, form))

    assert (call(request), call("nothing-of-ours")) == (True, False)


def test_a_sign_to_wake_still_wakes(world):
    hook = next(h for h in HOOKS if h.wakes)
    request = world.submit()

    code, stdout, stderr = run_hook(hook, world.event("FileChanged"))

    assert (code, stdout) == (2, b"")
    assert f"bridge:{request}".encode() in stderr


def test_a_sign_to_wake_counts_for_one_event_alone(world, tmp_path):
    world.submit()
    form = with_python(stand_in(tmp_path, "exit 42"))

    ended = [run_hook(h, world.event(h.event), form)[0] for h in HOOKS]

    # Who waits for a ring is not started: this session has none.
    assert ended == [2 if h.event == "FileChanged" else 0 for h in HOOKS]


def test_a_hook_that_is_ended_takes_its_interpreter_along(world, tmp_path):
    """Else it would hold the hook's output open, and work on for nobody."""
    file = tmp_path / "pid"
    text = f"echo $$ >'{file}.new'\nmv '{file}.new' '{file}'\nexec sleep 600"
    form = with_python(stand_in(tmp_path, text))
    world.submit()
    command = ["/bin/sh", *form.arguments(Hook("UserPromptSubmit", "turn"))]

    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as shell:
        wait_until(file.exists)
        shell.send_signal(signal.SIGTERM)
        code = shell.wait(PATIENCE_S)

    assert code == 0
    wait_until(lambda: not is_alive(int(file.read_text())))


@pytest.fixture
def ruled(world):
    """A rule may block a command; the hook that asks it."""
    rule = "on_before_tool: [{when: command == 'ls', block: no listing}]\n"
    (world.bridge.settings.home / "rules.yaml").write_text(rule)
    compile_rules(world.bridge.settings, world.store)
    return next(h for h in HOOKS if (h.event, h.tools) == ("PreToolUse", "bash"))


@pytest.mark.parametrize(
    ("text", "is_denied"), [("exit 1", False), ("kill -9 $$", True)]
)
def test_a_call_that_a_rule_may_block_waits_for_no_dead_library(
    world, ruled, tmp_path, text, is_denied
):
    """One that a signal has ended, as for want of memory, cannot be asked."""
    form = with_python(stand_in(tmp_path, text))

    ended = run_hook(ruled, world.event("PreToolUse", **LS), form)

    assert denied(ended) is is_denied


def test_a_call_that_a_rule_may_block_is_refused_with_its_hook(ruled, tmp_path):
    """By somebody else than the client, which would not read what it says."""
    form = with_python(stand_in(tmp_path, f"touch '{tmp_path}/begun'; exec sleep 600"))
    command, pipe = ["/bin/sh", *form.arguments(ruled)], subprocess.PIPE

    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as shell:
        wait_until((tmp_path / "begun").exists)
        shell.send_signal(signal.SIGTERM)
        stdout, stderr = shell.communicate(b"{}", timeout=PATIENCE_S)

    assert denied((shell.returncode, stdout, stderr))


@pytest.mark.usefixtures("world")
def test_a_hook_that_is_ended_as_it_starts_leaves_nothing(tmp_path):
    """The moment in which there is a child, and nobody has noted it yet."""
    form = with_python(stand_in(tmp_path, "exec sleep 600"))
    command = ["/bin/sh", *form.arguments(Hook("SessionStart", "always"))]
    left = []

    for number in range(100):
        shell = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(number % 25 / 5000)
        shell.send_signal(signal.SIGTERM)
        shell.wait(PATIENCE_S)
        left.append(shell.pid)

    wait_until(lambda: not any(map(group_is_alive, left)))


def group_is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


PACKAGE_FAULTS: dict[str, Callable[[Path], object]] = {
    "a module gone": lambda root: (root / "host" / "context.py").unlink(),
    "a module cut": lambda root: (root / "host" / "context.py").write_text("def f("),
    "all of host gone": lambda root: shutil.rmtree(root / "host"),
    "the library gone": lambda root: (root / "store" / "store.py").unlink(),
}


@pytest.mark.parametrize(("fault", "event"), crossed(PACKAGE_FAULTS, ASKED))
def test_a_package_that_is_not_whole_denies_what_is_ours(world, tmp_path, fault, event):
    """The quick half and the full one, each with the other or without."""
    request, _, agent = world.begin()
    world.bridge.cancel(request)
    somebodys = world.start("toolu_somebodys")
    form = copy_plugin(tmp_path / "plugin", world)
    PACKAGE_FAULTS[fault](tmp_path / "plugin" / "bridge")
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    ended = [
        run_hook(ASKED[event], world.event(event, **LS, **who), form, env=env)
        for who in ({"agent_id": agent}, {"agent_id": somebodys}, {})
    ]

    assert [denied(each) for each in ended] == [True, False, False]


@pytest.mark.parametrize("module", ["gate", "hook"])
def test_a_package_that_hangs_denies_what_is_ours(world, tmp_path, module):
    """The client gives a hook its time, and then lets the call through."""
    _, _, agent = world.begin()
    copy = tmp_path / "plugin"
    form = copy_plugin(copy, world)
    (copy / "bridge" / "host" / f"{module}.py").write_text(
        "import time\ntime.sleep(600)\n"
    )
    for script in ("full.py", "gate.py"):
        file = copy / "hooks" / script
        file.write_text(file.read_text().replace("alarm(25)", "alarm(2)"))
    hook = ASKED["PermissionRequest"]

    event = world.event(hook.event, agent_id=agent, **LS)
    assert denied(run_hook(hook, event, form))
