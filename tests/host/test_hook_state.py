"""Hook processes, whatever lies in the state directory: the session goes on."""

import json
import os
import shutil

import needs
import pytest
from faultlab import scratch
from hookprocesses import examples, register, run_all, run_all_harmlessly, run_hook
from hookworld import hook_world
from thoroughness import crossed

from bridge.host.hook_table import Hook

# Each test starts every hook there is.
pytestmark = pytest.mark.slow

OTHER_USER = 54321


def test_state_that_nobody_can_read(world):
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

    run_all_harmlessly(world)


@pytest.mark.parametrize(
    ("name", "what"),
    crossed(
        ["beat", "looked", "offer", "json", "by-local", "host", "agents", "state"],
        ["pipe", "endless", "huge", "folder", "dangling"],
    ),
)
def test_what_lies_in_place_of_a_file_delays_no_hook(world, tmp_path, name, what):
    """A shell that opens a pipe, or a file without end, waits until it is killed."""
    register(world)
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

    run_all_harmlessly(world)
    # What outlasts its own limit is written down here.
    log = world.home / ".hostbridge/hook-errors.log"
    assert not log.exists() or "_TooLong" not in log.read_text()
    assert not (tmp_path / "nowhere").exists()


def test_nothing_is_made_behind_a_link(world, tmp_path):
    register(world)
    elsewhere = tmp_path / "elsewhere"
    sessions = world.store.place.state / "sessions"
    shutil.copytree(sessions, elsewhere)
    (elsewhere / f"{world.session}.beat").unlink(missing_ok=True)
    shutil.rmtree(sessions)
    sessions.symlink_to(elsewhere)
    before = sorted(os.listdir(elsewhere))

    run_all_harmlessly(world)

    assert sorted(os.listdir(elsewhere)) == before


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_sign_of_life_empties_no_other_file(world, tmp_path, link):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    register(world)
    sessions = world.store.place.state / "sessions"
    (sessions / f"{world.session}.beat").unlink(missing_ok=True)
    link(precious, sessions / f"{world.session}.beat")

    run_all_harmlessly(world)

    assert precious.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("what", ["all", "pins", "state"])
def test_what_another_user_has_put_there_is_not_believed(world, what):
    """In a folder that others can write to, hooks name no watch and make nothing.

    That nothing works, and no rule holds, its user is told once.
    """
    register(world)
    guard = world.store.place.guard
    world.fire("CwdChanged")
    others = guard if what == "all" else guard / what
    for path in (others, *others.rglob("*")):
        os.lchown(path, OTHER_USER, OTHER_USER)
    guard.chmod(0o777)
    before = sorted(guard.rglob("*"))

    ended = run_all(examples(world))

    said = json.loads(ended.pop("SessionStart:always")[1])["systemMessage"]
    assert said.startswith(f"hostbridge, and your rules, are off: {guard}")
    assert set(ended.values()) == {(0, b"", b"")}
    assert sorted(guard.rglob("*")) == before


@pytest.mark.parametrize("name", ["", "sessions", "requests", "agents", "locks"])
def test_a_file_in_the_way_of_a_folder(world, name):
    state = world.store.place.state
    moved = state / name
    moved.rename(moved.with_name("away")) if moved.exists() else None
    moved.write_text("in the way")

    run_all_harmlessly(world)


@pytest.mark.parametrize(
    "mount",
    [
        pytest.param("true", id="small", marks=pytest.mark.full),
        pytest.param('dd if=/dev/zero of="$1/full" 2>/dev/null || true', id="full"),
        pytest.param('mount -o remount,ro "$1"', id="read-only"),
    ],
)
def test_a_disk_that_takes_nothing(world, mount):
    unshare = needs.tool("unshare")
    home = str(world.home / ".hostbridge")
    script = f'mount -t tmpfs -o size=64k,mode=700 t "$1" && {mount}; shift; exec "$@"'
    below = (unshare, "-rm", "/bin/sh", "-c", script, "sh", home)

    run_all_harmlessly(world, below)


def test_an_agent_is_stopped_without_room_for_temporary_files(monkeypatch):
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
            register(world)
            request, agent = world.working()
            world.bridge.cancel(request)
            call = {"agent_id": agent, "tool_name": "Read", "tool_use_id": "t"}
            _, stdout, stderr = run_hook(
                Hook("PreToolUse", "tool-start"),
                world.event("PreToolUse", **call),
                below=(unshare, "-rm", "sh", "-c", script),
                cwd="/proc",
            )
    finally:
        shutil.rmtree(root)

    assert stderr == b""
    assert json.loads(stdout)["continue"] is False
