"""The answer of SessionStart comes first; what follows it may fail or never happen."""

import json
import os
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hookprocesses import run_hook
from hookworld import HookWorld
from polling import wait_until
from storeworld import dead_process

from bridge.host import after_hook
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.host.hook_table import HOOKS
from bridge.protocol.hook_output import HookOutput
from bridge.protocol.ids import check_id
from bridge.store import Claimant, wakeups
from bridge.store.sessions import open_session

pytestmark = pytest.mark.slow

LOOKS_S = (1.0, 2.0, 4.0)


def start(world: HookWorld, source: str = "startup") -> HookOutput:
    """Begin a session, and leave what follows the answer undone."""
    return world.answer("SessionStart", source=source)


def do_later(output: HookOutput) -> None:
    assert output.later is not None
    output.later()


def watched(output: HookOutput) -> list[str]:
    return list(json.loads(output.stdout)["hookSpecificOutput"]["watchPaths"])


def signal_of(world: HookWorld) -> Path:
    (session,) = world.live()
    folder = world.store.place.state / "bell" / wakeups.folder_name(session.host)
    return folder / wakeups.SIGNAL


def stage(world: HookWorld, request: str) -> str:
    """How far a request is, left as it is."""
    found = world.store.find(check_id(request))
    return str(found.status)


def held_by_the_dead(world: HookWorld) -> str:
    request = world.submit()
    claimant = Claimant("gone", dead_process())
    world.store.claim(claimant, 4, lambda _: "take")
    for session in world.live():
        wakeups.clear(world.store, session.host)
    return request


def test_the_answer_comes_before_any_look_at_the_queue(world):
    """With a hundred thousand requests the look took as long as the client waits."""
    held = held_by_the_dead(world)
    overdue = world.submit(timeout_s=0.001)
    time.sleep(0.01)

    output = start(world)
    before = [stage(world, each) for each in (held, overdue)]
    do_later(output)
    after = [stage(world, each) for each in (held, overdue)]

    assert watched(output) == [str(signal_of(world).parent)]
    assert before == ["processing", "pending"]
    assert after == ["pending", "timeout"]


def test_a_look_that_is_cut_short_begins_elsewhere_the_next_time(world, monkeypatch):
    """Otherwise it would never reach those behind the first few."""
    monkeypatch.setattr("bridge.store.sweep.HELD_S", 0)
    for number in range(5):
        world.drop(f"r{number}", prompt="x")
    listed = os.listdir(world.store.place.state / "requests")
    last = listed[-1].removesuffix(".json")
    world.drop(last, prompt="x", timeout=1, createdAt=1)
    ticks = count()
    monkeypatch.setattr(world.store.clock, "monotonic_s", lambda: next(ticks))

    for _ in range(1000):
        world.store.sweep(everything=True, limit_s=1.5)

    others = [stage(world, f"r{n}") for n in range(5) if f"r{n}" != last]
    assert others == ["pending"] * 4
    assert stage(world, last) == "timeout"


def test_a_session_that_starts_rests_if_nothing_waits(world):
    state = world.store.place.state
    (state / "requests").mkdir(exist_ok=True)
    os.utime(state / "requests", (1, 1))

    do_later(start(world))

    looked = state / "sessions" / f"{world.session}.looked"
    assert looked.stat().st_mtime == 1


@pytest.fixture
def looks(world, monkeypatch):
    """The world, where it looks when it really does."""
    monkeypatch.setattr(after_hook, "LOOKS_S", LOOKS_S)
    return world


@pytest.fixture
def looks_at_once(world, monkeypatch):
    """The world, where it looks as often, without the time in between."""
    monkeypatch.setattr(after_hook, "LOOKS_S", (0,) * len(LOOKS_S))
    return world


@pytest.mark.usefixtures("looks_at_once")
def test_what_waits_wakes_once_the_session_has_its_answer(world):
    """A wake-up before the watch is not reported, and nobody else may be waiting."""
    world.submit()
    signal_of(world).unlink()

    do_later(start(world))

    assert signal_of(world).exists()


@pytest.mark.usefixtures("looks_at_once")
def test_what_a_dead_host_held_wakes_the_session_that_is_resumed(world):
    """It is idle, and nobody else may be waiting."""
    held = held_by_the_dead(world)

    do_later(start(world, "resume"))

    assert signal_of(world).exists()
    assert held in world.fire("FileChanged").stderr


def test_what_a_dead_host_held_wakes_the_other_sessions_too(world, monkeypatch):
    """It may be meant for one of them."""
    held_by_the_dead(world)
    (idle,) = world.live()
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    world.session = "session-2"

    do_later(start(world))

    assert wakeups.unanswered_s(world.store, idle.host) is not None


class Client:
    """Stands for time, and for a client that watches from the `watches`-th look on."""

    def __init__(self, world: HookWorld, *, watches: int) -> None:
        self.world, self.watches = world, watches
        self.seen: list[tuple[float, int]] = []

    def __call__(self, wait_s: float) -> None:
        file = signal_of(self.world)
        if len(self.seen) >= self.watches:
            file.unlink(missing_ok=True)
        changed = file.stat().st_mtime_ns if file.exists() else 0
        self.seen.append((wait_s, changed))
        if changed:
            # As much later as was waited.
            then = changed - int(wait_s * 1_000_000_000)
            os.utime(file, ns=(then, then))


def settled(world: HookWorld, *, watches: int) -> list[float]:
    """For how long it waited before each look."""
    client = Client(world, watches=watches)
    event = HookEvent(world.event("SessionStart"))
    (session,) = world.live()
    hook = HookContext(world.bridge.settings, world.store, event, session, [])
    after_hook.wake_until_answered(hook, pause=client)
    return [wait_s for wait_s, _ in client.seen]


@pytest.mark.usefixtures("looks")
@pytest.mark.parametrize("watches", [0, 1, 2, 9])
def test_a_wake_up_before_the_watch_is_repeated_until_it_is_answered(world, watches):
    """A few times only: the session may never answer."""
    world.submit()

    waited = settled(world, watches=watches)

    assert waited == list(LOOKS_S)[: max(2, watches + 1)]


@pytest.mark.usefixtures("looks")
def test_where_nothing_waits_nothing_wakes(world):
    assert settled(world, watches=0) == [1.0]
    assert not signal_of(world).exists()


# As a process


def run(world: HookWorld, event: str, **fields: Any) -> dict[str, Any]:
    """What a hook process answers to one event."""
    (hook,) = (h for h in HOOKS if h.event == event and h.script != "ring")
    code, stdout, stderr = run_hook(hook, world.event(event, **fields))
    assert (code, stderr) == (0, b"")
    return dict(json.loads(stdout)["hookSpecificOutput"]) if stdout else {}


def test_a_process_says_what_to_watch_while_the_store_is_locked(world):
    """The client reads its stdout and waits for nothing that comes after."""
    overdue = world.submit(timeout_s=0.001)
    with world.store.exclusive():
        said = run(world, "SessionStart", source="startup")
        between = stage(world, overdue)

    assert said["watchPaths"] == [str(signal_of(world).parent)]
    assert between == "pending"


def test_error_what_to_watch_is_said_where_nothing_can_be_written_down(world):
    """No later event could name it."""
    folder = str(signal_of(world).parent)
    sessions = world.store.place.state / "sessions"
    sessions.rename(sessions.with_name("elsewhere"))
    sessions.touch()

    for event in ("SessionStart", "CwdChanged"):
        said = run(world, event, source="startup")
        assert said == {"hookEventName": event, "watchPaths": [folder]}


def test_a_change_of_folder_names_it_again(world):
    """The shell does it alone, or the library where the shell cannot."""
    folder = signal_of(world).parent
    expected = {"hookEventName": "CwdChanged", "watchPaths": [str(folder)]}
    run(world, "SessionStart", source="startup")

    by_shell = run(world, "CwdChanged", cwd="/")
    pid = folder.name.partition("-")[0]
    stale = folder.with_name(f"{pid}-0123456789ab")
    stale.mkdir()
    by_library = run(world, "CwdChanged", cwd="/")
    stale.rmdir()
    world.submit()
    with_work = run(world, "CwdChanged", cwd="/")

    assert [by_shell, by_library, with_work] == [expected] * 3


def test_a_session_from_before_the_install_can_be_woken_after_a_change_of_folder(
    world, monkeypatch
):
    """Its client watches what a hook names, and none did so at its start."""
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    world.session = "session-2"
    world.fire("UserPromptSubmit", prompt="hello")
    before = open_session(world.store, "session-2")

    said = world.say("CwdChanged")

    after = open_session(world.store, "session-2")
    watched = wakeups.path_of(world.store.place, after.host)
    assert said["hookSpecificOutput"]["watchPaths"] == [watched]
    assert (before.wakes, after.wakes) == (False, True)
    assert open_session(world.store, "session-1").wakes


@pytest.mark.usefixtures("looks_at_once")
def test_a_signal_from_before_the_watch_is_made_again(world):
    """It hides the next, and what it was for need not be in the queue."""
    output = start(world)
    signal = signal_of(world)
    signal.touch()
    before = signal.stat().st_mtime_ns

    do_later(output)

    assert signal.stat().st_mtime_ns > before


def test_a_signal_from_before_a_new_folders_watch_is_made_again(world):
    """What is asked just after a `cd` rings before the client watches again."""
    run(world, "SessionStart", source="startup")
    signal = signal_of(world)
    signal.touch()
    before = signal.stat().st_mtime_ns

    run(world, "CwdChanged", cwd="/")

    wait_until(lambda: signal.stat().st_mtime_ns > before, what="another signal")
    signal.unlink()
