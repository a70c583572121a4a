"""Hook processes as the client starts them: whatever happens, the session goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import needs
import pytest
from faultlab import scratch
from hookworld import GOOD, INSTALLED, ROOT, HookWorld, hook_world, run_hook

from bridge.host import gate
from bridge.host.hook_table import HOOKS, Hook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Each test starts every hook there is.
pytestmark = pytest.mark.slow

TABLE = [(hook.event, ["/bin/sh", *INSTALLED.arguments(hook)]) for hook in HOOKS]
IDS = [f"{hook.event}:{hook.script}" for hook in HOOKS]
# Until a hook counts as one that hangs.
PATIENCE_S = 120
OTHER_USER = 54321


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    with hook_world(tmp_path, monkeypatch) as made:
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", made.session)
        yield made


def example(world: HookWorld, event: str) -> bytes:
    """An event with what any of its kind may hold."""
    record = world.event(
        event,
        source="startup",
        reason="other",
        prompt="hello",
        agent_id="agent1",
        tool_name="Agent",
        tool_use_id="toolu_1",
        tool_input={"description": "b", "prompt": "bridge:r-1"},
        last_assistant_message="{}",
        background_tasks=[],
        a_new_field={"x": [1]},
    )
    return json.dumps(record).encode()


def start(command: list[str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)


def run_all(
    feed: dict[str, bytes], wrap: tuple[str, ...] = ()
) -> dict[str, tuple[int, bytes, bytes]]:
    """Run every hook with its event, all at once, as the client does."""
    started = {
        name: (start([*wrap, *command]), feed[event])
        for name, (event, command) in zip(IDS, TABLE, strict=True)
    }
    ended = {}
    for name, (process, data) in started.items():
        stdout, stderr = process.communicate(data, timeout=PATIENCE_S)
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


def known(world: HookWorld) -> None:
    """Let the hooks see the session: from here on they act for it."""
    run_hook(Hook("UserPromptSubmit", "turn"), world.event("UserPromptSubmit"))


def feed_of(world: HookWorld) -> dict[str, bytes]:
    return {event: example(world, event) for event, _ in TABLE}


# Stdin

BODIES: dict[str, bytes] = {
    "closed at once": b"",
    "not JSON": b"hello\n",
    "no object": b"[1, 2]",
    "no fields": b"{}",
    "another event": b'{"hook_event_name": "Unheard"}',
    "not UTF-8": b'{"hook_event_name": "\xff"}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.usefixtures("world")
def test_error_stdin(body: str) -> None:
    ended = run_all({event: BODIES[body] for event, _ in TABLE})

    assert_harmless(ended)
    assert {stdout for _, stdout, _ in ended.values()} == {b""}


def test_events_with_new_fields_and_without_old_ones(world: HookWorld) -> None:
    run = world.start(world.launch(_offered(world)))
    missing = {
        event: json.dumps(
            {"hook_event_name": event, "session_id": world.session, "agent_id": run}
        ).encode()
        for event, _ in TABLE
    }

    assert_harmless(run_all(feed_of(world)))
    assert_harmless(run_all(missing))


def test_error_stdin_of_50_megabytes(world: HookWorld) -> None:
    """It is read to its end: a client that is cut off sees a broken pipe."""
    feed = {}
    for event, _ in TABLE:
        huge = world.event(event, prompt="x" * 50_000_000)
        feed[event] = json.dumps(huge).encode()

    assert_harmless(run_all(feed))


@pytest.mark.usefixtures("world")
def test_error_stdin_never_closed() -> None:
    """All of them at once: the client would wait for each."""
    reading, writing = os.pipe()
    try:
        started = [subprocess.Popen(command, stdin=reading) for _, command in TABLE]
        codes = [process.wait(PATIENCE_S) for process in started]
    finally:
        os.close(reading)
        os.close(writing)

    assert set(codes) == {0}


# The state directory


def test_state_that_nobody_can_read(world: HookWorld) -> None:
    """Garbage in every file that a hook looks at."""
    state = world.store.place.state
    for name in (
        "requests/r-1.json",
        "processing/r-2.json",
        "agents/agent9.json",
        "agents/call-toolu_1.json",
        f"sessions/{world.session}.json",
        "bell/1-x/wake",
    ):
        file = state / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"\xff{garbage")

    assert_harmless(run_all(feed_of(world)))


@pytest.mark.parametrize("what", ["pipe", "endless", "huge", "folder", "dangling"])
@pytest.mark.parametrize(
    "name",
    ["beat", "looked", "offer", "json", "owner", "by-local", "host", "agents", "state"],
)
def test_what_lies_in_place_of_a_file_keeps_no_hook(
    world: HookWorld, tmp_path: Path, name: str, what: str
) -> None:
    """A shell that opens a pipe, or a file without end, waits until it is killed."""
    known(world)
    file = world.store.place.state / "sessions" / f"{world.session}.{name}"
    if name in ("by-local", "host", "agents", "state"):
        (folder,) = (world.home / ".hostbridge/pins").iterdir()
        file = folder / name
    file.unlink(missing_ok=True)
    if what == "pipe":
        os.mkfifo(file)
    elif what == "huge":
        with file.open("wb") as hole:
            hole.truncate(300 << 20)
    elif what == "folder":
        file.mkdir()
    else:
        file.symlink_to("/dev/zero" if what == "endless" else tmp_path / "nowhere")

    assert_harmless(run_all(feed_of(world)))
    # What outlasts its own limit is written down here.
    log = world.home / ".hostbridge/hook-errors.log"
    assert not log.exists() or "_TooLong" not in log.read_text()
    assert not (tmp_path / "nowhere").exists()


def test_nothing_is_made_behind_a_link(world: HookWorld, tmp_path: Path) -> None:
    known(world)
    elsewhere = tmp_path / "elsewhere"
    sessions = world.store.place.state / "sessions"
    shutil.copytree(sessions, elsewhere)
    (elsewhere / f"{world.session}.beat").unlink(missing_ok=True)
    shutil.rmtree(sessions)
    sessions.symlink_to(elsewhere)
    before = sorted(os.listdir(elsewhere))

    assert_harmless(run_all(feed_of(world)))

    assert sorted(os.listdir(elsewhere)) == before


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_sign_of_life_empties_no_other_file(
    world: HookWorld, tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    known(world)
    sessions = world.store.place.state / "sessions"
    (sessions / f"{world.session}.beat").unlink(missing_ok=True)
    link(precious, sessions / f"{world.session}.beat")

    assert_harmless(run_all(feed_of(world)))

    assert precious.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("what", ["all", "pins", "state"])
def test_what_another_user_has_put_there_is_not_believed(
    world: HookWorld, what: str
) -> None:
    """In a folder that others can write to: they name no bell, nothing is made."""
    known(world)
    guard = world.store.place.guard
    world.fire("CwdChanged")
    others = guard if what == "all" else guard / what
    for path in (others, *others.rglob("*")):
        os.lchown(path, OTHER_USER, OTHER_USER)
    guard.chmod(0o777)
    before = sorted(guard.rglob("*"))

    ended = run_all(feed_of(world))

    assert set(ended.values()) == {(0, b"", b"")}
    assert sorted(guard.rglob("*")) == before


@pytest.mark.parametrize("name", ["", "sessions", "requests", "agents", "locks"])
def test_a_file_in_the_way_of_a_folder(world: HookWorld, name: str) -> None:
    state = world.store.place.state
    moved = state / name
    moved.rename(moved.with_name("away")) if moved.exists() else None
    moved.write_text("in the way")

    assert_harmless(run_all(feed_of(world)))


@pytest.mark.parametrize(
    "mount",
    [
        pytest.param("true", id="small"),
        pytest.param('dd if=/dev/zero of="$1/full" 2>/dev/null || true', id="full"),
        pytest.param('mount -o remount,ro "$1"', id="read-only"),
    ],
)
def test_a_disk_that_takes_nothing(world: HookWorld, mount: str) -> None:
    unshare = needs.tool("unshare")
    home = str(world.home / ".hostbridge")
    script = f'mount -t tmpfs -o size=64k,mode=700 t "$1" && {mount}; shift; exec "$@"'
    wrap = (unshare, "-rm", "/bin/sh", "-c", script, "sh", home)

    assert_harmless(run_all(feed_of(world), wrap))


def test_an_agent_is_stopped_without_room_for_temporary_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that nobody stops goes on working for a request that has ended."""
    unshare = needs.tool("unshare")
    bind = 'mount --bind "$each" "$each"'
    freeze = 'mount -o remount,bind,ro,nosuid,nodev "$each"'
    folders = '/tmp /var/tmp "$CLAUDE_PROJECT_DIR"'
    script = f'for each in {folders}; do {bind} && {freeze}; done; exec "$0" "$@"'
    monkeypatch.setenv("TMPDIR", "/tmp")
    root = scratch()
    try:
        with hook_world(root, monkeypatch) as world:
            monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", world.session)
            known(world)
            request, _, agent = world.begin()
            world.use(agent, tool_use_id="t")
            world.bridge.cancel(request)

            frozen = (unshare, "-rm", "sh", "-c", script)
            done = subprocess.run(
                [*frozen, *command_of("PreToolUse:tool-start")],
                input=json.dumps(
                    world.event(
                        "PreToolUse",
                        agent_id=agent,
                        tool_name="Read",
                        tool_use_id="t",
                    )
                ).encode(),
                capture_output=True,
                timeout=PATIENCE_S,
                check=True,
                cwd="/proc",
            )
    finally:
        shutil.rmtree(root)

    assert done.stderr == b""
    assert json.loads(done.stdout)["continue"] is False


@pytest.mark.parametrize("lacks", ["the call", "leave"])
def test_the_gate_hands_on_where_there_are_no_files_in_memory(
    monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    """An older Python, or a kernel that refuses: what it hands on must not be lost."""

    def refuse(_name: str) -> int:
        raise PermissionError(1, "Operation not permitted")

    if lacks == "leave":
        monkeypatch.setattr(os, "memfd_create", refuse, raising=False)
    else:
        monkeypatch.delattr(os, "memfd_create", raising=False)

    with gate._unnamed_file() as copy:
        copy.write(b"event")
        copy.seek(0)
        assert copy.read() == b"event"


@pytest.mark.parametrize(
    "variable", [("HOME", "/proc/nowhere"), ("BRIDGE_SLOTS", "many")]
)
def test_error_an_environment_that_means_nothing(
    world: HookWorld, monkeypatch: pytest.MonkeyPatch, variable: tuple[str, str]
) -> None:
    monkeypatch.setenv(*variable)

    assert_harmless(run_all(feed_of(world)))


# Failing


def _offered(world: HookWorld) -> str:
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    return request


def command_of(name: str) -> list[str]:
    return TABLE[IDS.index(name)][1]


def test_error_a_token_that_cannot_be_served_now(world: HookWorld) -> None:
    """Let through, the agent would get the token for a prompt."""
    request = _offered(world)
    call = {"description": "b", "prompt": f"bridge:{request}"}
    event = world.event("PreToolUse", tool_name="Agent", tool_input=call)

    with world.store.exclusive():
        _, stdout, _ = run_hook(Hook("PreToolUse", "agent-call"), event)

    output = json.loads(stdout)["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert world.code(request) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("where", ["react", "destructor"])
def test_a_hook_that_takes_too_long_ends(tmp_path: Path, where: str) -> None:
    """Nothing that looks after errors on its way may keep it.

    What is raised in a destructor is kept by Python itself, and only told.
    """
    script = """
import sys
import time
import bridge.host.hook as hook

class Slow:
    def __del__(self):
        time.sleep(60)

def react(*_):
    Slow() if WHERE == "destructor" else None
    while True:
        try:
            time.sleep(60)
        except Exception:
            pass

sys.unraisablehook = lambda _: None
hook.TIME_LIMIT_S = 1
hook.react = react
hook.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script.replace("WHERE", repr(where)), "Stop", "local"],
        input=b"{}",
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        env={"HOME": str(tmp_path)},
        cwd=ROOT,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


VICTIMS = (
    "UserPromptSubmit:turn", "PreToolUse:agent-call", "SubagentStop:agent-event",
)  # fmt: skip
DELAYS_S = [0.0, 0.03, 0.06, 0.09, 0.12, 0.15, 0.18, 0.21, 0.25, 0.3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_hook_that_is_killed_loses_nothing(world: HookWorld, number: int) -> None:
    """At each stage of offer, launch and capture; fresh processes finish the work."""
    for delay_s in DELAYS_S:
        for victim in VICTIMS:
            request = world.submit()
            served = _serve(world, request, victim, delay_s, number)
            assert served == "success", (victim, delay_s)


def _serve(
    world: HookWorld, request: str, victim: str, delay_s: float, number: int
) -> str | None:
    """One request, start to end, where the first process of one hook is killed."""

    def fire(name: str, event: str, **fields: Any) -> None:
        if name == victim:
            with start(command_of(name)) as process:
                assert process.stdin is not None
                process.stdin.write(json.dumps(world.event(event, **fields)).encode())
                process.stdin.close()
                time.sleep(delay_s)
                process.send_signal(number)
        else:
            world.fire(event, **fields)

    fire("UserPromptSubmit:turn", "UserPromptSubmit", prompt="hello")
    world.fire("Stop", background_tasks=[])
    call = f"call-{request}"
    arguments = {"description": "b", "prompt": f"bridge:{request}"}
    tool = {"tool_name": "Agent", "tool_use_id": call, "tool_input": arguments}
    fire("PreToolUse:agent-call", "PreToolUse", **tool)
    # Without an answer from the hook the client would run the call as it stands; here
    # it asks again, as it does for a hook that is registered twice.
    world.fire("PreToolUse", **tool)
    agent = world.start(call)
    end = {"agent_id": agent, "last_assistant_message": GOOD}
    fire("SubagentStop:agent-event", "SubagentStop", **end)
    world.notice(agent, **{"tool-use-id": call, "result": GOOD})
    return world.code(request)  # type: ignore[arg-type]
