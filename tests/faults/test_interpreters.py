"""An interpreter that cannot start, or comes to no end, blocks nothing.

Python ends with 2 on an option that it does not know and on a script that is not there,
and 2 is what a client takes for "block". What our own agents ask is denied then, and so
is a call that names a request; the user's own calls go through.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hookworld import HookWorld, hook_world

import bridge
from bridge.host.hook_table import HOOKS, Hook, of_this_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

ROOT = Path(bridge.__file__).parents[1]
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

SILENT = [how for how in BROKEN if not how.startswith("says")]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    """An agent of ours works, and a request waits that was offered."""
    with hook_world(tmp_path, monkeypatch) as made:
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", made.session)
        # No other hostbridge is to be found there.
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        run(Hook("UserPromptSubmit", "turn"), made.event("UserPromptSubmit"))
        yield made


def broken(folder: Path, how: str) -> str:
    text = BROKEN[how]
    python = folder / "python"
    if text is not None:
        python.write_text(text if text[0] == "\x7f" else f"#!/bin/sh\n{text}\n")
        python.chmod(0o755)
    return str(python)


def run(hook: Hook, told: dict[str, Any], python: str = sys.executable) -> Ended:
    """Run a hook as the client does."""
    form = of_this_machine("local", ROOT / "hooks", python)
    done = subprocess.run(
        ["/bin/sh", *form.arguments(hook)],
        input=json.dumps(told).encode(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def denied(ended: Ended) -> bool:
    code, stdout, stderr = ended
    assert (code, stderr) == (0, b"")
    if not stdout:
        return False
    said = json.loads(stdout)["hookSpecificOutput"]
    decision = said.get("decision", {}).get("behavior")
    return "deny" in (said.get("permissionDecision"), decision)


@pytest.mark.parametrize("how", BROKEN)
def test_no_hook_blocks(world: HookWorld, tmp_path: Path, how: str) -> None:
    """Each event, each tool: the bell may end with 2, and only a handler has it so."""
    world.begin()
    world.submit()
    python = broken(tmp_path, how)

    for hook in HOOKS:
        for tool in ("Agent", "Bash", "Write", "mcp__a__b", "SubagentHandback"):
            told = world.event(
                hook.event,
                source="startup",
                prompt="hello",
                tool_name=tool,
                tool_use_id="toolu_1",
                tool_input={"prompt": "look for bridge: in the code", "command": "ls"},
            )
            code, stdout, stderr = run(hook, told, python)

            # The stand-in that has read the event leaves nothing to tell it by.
            unknown = how == "ends with 2, having read" and hook.event in (
                "PreToolUse",
                "PermissionRequest",
            )
            if hook.event != "FileChanged":
                assert stderr == b"", (hook, tool)
            assert code == 0, (hook, tool, stdout)
            assert unknown or b"deny" not in stdout, (hook, tool)


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("how", SILENT)
def test_an_agent_of_ours_is_denied(
    world: HookWorld, tmp_path: Path, how: str, event: str
) -> None:
    """Seen before or not, and whatever is left of its record."""
    hook = next(h for h in HOOKS if h.event == event and h.matcher == "*")
    _, _, agent = world.begin()
    call = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls"}}
    told = world.event(event, agent_id=agent, **call)
    python = broken(tmp_path, how)

    unseen = run(hook, told, python)
    world.fire("PreToolUse", agent_id=agent, **call)
    seen = run(hook, told, python)

    assert (denied(unseen), denied(seen)) == (True, True)


@pytest.mark.parametrize("how", [each for each in SILENT if "having" not in each])
def test_a_token_that_cannot_be_filled_in_is_denied(
    world: HookWorld, tmp_path: Path, how: str
) -> None:
    """An agent that got it for a prompt would run unmanaged."""
    hook = next(h for h in HOOKS if h.script == "agent-call")
    request = world.submit()
    given = {"description": "b", "prompt": f"bridge:{request}"}
    other = {"description": "b", "prompt": "bridge:nothing-of-ours"}
    python = broken(tmp_path, how)

    ended = [
        run(hook, world.event("PreToolUse", tool_name="Agent", **more), python)
        for more in ({"tool_input": given}, {"tool_input": other})
    ]

    assert [denied(each) for each in ended] == [True, False]


def test_the_bell_still_wakes(world: HookWorld) -> None:
    hook = next(h for h in HOOKS if h.wakes)
    request = world.submit()

    code, stdout, stderr = run(hook, world.event("FileChanged"))

    assert (code, stdout) == (2, b"")
    assert f"bridge:{request}".encode() in stderr


def test_a_sign_to_wake_counts_for_the_bell_alone(
    world: HookWorld, tmp_path: Path
) -> None:
    world.submit()
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 42\n")
    python.chmod(0o755)

    ends = {h.event: run(h, world.event(h.event), str(python))[0] for h in HOOKS}

    assert ends == {h.event: 2 if h.wakes else 0 for h in HOOKS}


def test_a_hook_that_is_ended_takes_its_interpreter_along(
    world: HookWorld, tmp_path: Path
) -> None:
    """Else it would hold the hook's output open, and work on for nobody."""
    python, pid_file = tmp_path / "python", tmp_path / "pid"
    python.write_text(
        f"#!/bin/sh\necho $$ >'{pid_file}.new'\n"
        f"mv '{pid_file}.new' '{pid_file}'\nexec sleep 600\n"
    )
    python.chmod(0o755)
    world.submit()
    form = of_this_machine("local", ROOT / "hooks", str(python))
    command = ["/bin/sh", *form.arguments(Hook("UserPromptSubmit", "turn"))]

    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as shell:
        until(pid_file.exists)
        shell.send_signal(signal.SIGTERM)
        code = shell.wait(PATIENCE_S)

    assert code == 0
    until(lambda: not alive(int(pid_file.read_text())))


@pytest.mark.usefixtures("world")
def test_a_hook_that_is_ended_as_it_starts_leaves_nothing(tmp_path: Path) -> None:
    """The moment in which there is a child, and nobody has noted it yet."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 600\n")
    python.chmod(0o755)
    form = of_this_machine("local", ROOT / "hooks", str(python))
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

    until(lambda: not any(map(group_is_alive, left)))


def group_is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_reinstalling_while_hooks_fire_blocks_nothing(
    world: HookWorld, tmp_path: Path
) -> None:
    """Scripts and package vanish, come half, and come back."""
    copy = tmp_path / "plugin"
    copies = (ROOT / "hooks", ROOT / "bridge")
    for each in copies:
        shutil.copytree(each, copy / each.name)
    ready = threading.Event()
    stop = threading.Event()

    def reinstall() -> None:
        while not stop.is_set():
            for each in copies:
                # A hook may write its bytecode in the middle of either.
                shutil.rmtree(copy / each.name, ignore_errors=True)
                ready.set()
                shutil.copytree(each, copy / each.name, dirs_exist_ok=True)

    request, _, agent = world.begin()
    form = of_this_machine("plugin", copy / "hooks", sys.executable)
    thread = threading.Thread(target=reinstall)
    thread.start()
    try:
        ready.wait()
        codes = set()
        for number in range(15):
            for hook in HOOKS:
                told = world.event(hook.event, prompt="hello", tool_name="Agent")
                told["tool_input"] = {"prompt": f"work {number}", "description": "d"}
                done = subprocess.run(
                    ["/bin/sh", *form.arguments(hook)],
                    input=json.dumps(told).encode(),
                    capture_output=True,
                    timeout=PATIENCE_S,
                    check=False,
                )
                codes.add((hook.event, done.returncode, b'"deny"' in done.stdout))
    finally:
        stop.set()
        thread.join()

    assert {(code, no) for _, code, no in codes} == {(0, False)}
    assert world.code(request) is None
    assert agent


PACKAGE_FAULTS: dict[str, Callable[[Path], object]] = {
    "a module gone": lambda root: (root / "host" / "context.py").unlink(),
    "a module cut": lambda root: (root / "host" / "context.py").write_text("def f("),
    "all of the host room gone": lambda root: shutil.rmtree(root / "host"),
    "the library gone": lambda root: (root / "store" / "store.py").unlink(),
}


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("fault", PACKAGE_FAULTS)
def test_a_package_that_is_not_whole_denies_what_is_ours(
    world: HookWorld, tmp_path: Path, fault: str, event: str
) -> None:
    """The quick half and the full one, each with the other or without."""
    copy = tmp_path / "plugin"
    for name in ("hooks", "bridge"):
        shutil.copytree(ROOT / name, copy / name)
    _, _, agent = world.begin()
    world.bridge.cancel(world.runs()[0].request_id)  # type: ignore[arg-type]
    PACKAGE_FAULTS[fault](copy / "bridge")
    hook = next(h for h in HOOKS if h.event == event and h.matcher == "*")
    (pinned,) = (world.home / ".hostbridge/pins").iterdir()
    (pinned / "by-local").rename(pinned / "by-plugin")
    form = of_this_machine("plugin", copy / "hooks", sys.executable)
    call = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls"}}

    ended = [
        subprocess.run(
            ["/bin/sh", *form.arguments(hook)],
            input=json.dumps(world.event(event, **call, **who)).encode(),
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        for who in ({"agent_id": agent}, {"agent_id": "somebodys"}, {})
    ]

    assert [denied((e.returncode, e.stdout, e.stderr)) for e in ended] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("room", ["gate", "hook"])
def test_a_package_that_hangs_denies_what_is_ours(
    world: HookWorld, tmp_path: Path, room: str
) -> None:
    """The client gives a hook its time, and then lets the call through."""
    copy = tmp_path / "plugin"
    for name in ("hooks", "bridge"):
        shutil.copytree(ROOT / name, copy / name)
    (copy / "bridge" / "host" / f"{room}.py").write_text(
        "import time\ntime.sleep(600)\n"
    )
    for script in ("full", "gate"):
        file = copy / "hooks" / script
        file.write_text(file.read_text().replace("signal.alarm(25)", "signal.alarm(2)"))
    _, _, agent = world.begin()
    (pinned,) = (world.home / ".hostbridge/pins").iterdir()
    (pinned / "by-local").rename(pinned / "by-plugin")
    form = of_this_machine("plugin", copy / "hooks", sys.executable)
    hook = next(h for h in HOOKS if h.event == "PermissionRequest")
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}}

    done = subprocess.run(
        ["/bin/sh", *form.arguments(hook)],
        input=json.dumps(world.event(hook.event, agent_id=agent, **call)).encode(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert denied((done.returncode, done.stdout, done.stderr))


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
