"""One watcher a process, however many wait, and for however many folders."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from bridge.store import watcher as module
from bridge.store.watcher import Changes, noticing

if TYPE_CHECKING:
    from pathlib import Path

# Long enough for a machine that is busy; nobody waits so long where all is well.
LONG_S = 30.0

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


def instances() -> int:
    """How many inotify instances this process has."""
    gc.collect()
    found = 0
    for fd in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found += os.readlink(f"/proc/self/fd/{fd}") == "anon_inode:inotify"
    return found


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in ("one", "two", "three")]
    for folder in made:
        folder.mkdir()
    return made


def watchers() -> list[threading.Thread]:
    """The threads that watch: ours, and those of watchdog."""
    return [
        thread
        for thread in threading.enumerate()
        if thread.name == "hostbridge-watch"
        or type(thread).__module__.startswith("watchdog.")
    ]


def idle() -> None:
    """Wait until nothing of an earlier watcher is left."""
    while left := watchers():
        left[0].join()


@on_linux
def test_all_who_wait_share_one_instance(folders: list[Path]) -> None:
    """A user has 128 of them, and the client needs some to hear us at all."""
    idle()
    with ExitStack() as stack:
        for number in range(300):
            stack.enter_context(noticing(f"{folders[number % 3]}", [f"{number}.json"]))
        most, threads = instances(), len(watchers())

    idle()
    # One thread of ours, watchdog's two, and one of it for each folder.
    assert (most, threads <= 1 + 3 + 3) == (1, True)
    assert (instances(), watchers()) == (0, [])


def test_who_waits_for_one_name_hears_of_no_other(folders: list[Path]) -> None:
    """A thousand who wait for one answer each are not all woken by each answer."""
    here = folders[0]
    with (
        noticing(str(here), ["a.json"]) as for_a,
        noticing(str(here), ["b.json"]) as for_b,
        noticing(str(folders[1]), ["b.json"]) as elsewhere,
    ):
        (here / "b.json").touch()

        assert for_b.wait(LONG_S)
        assert (for_a.wait(0), elsewhere.wait(0)) == (False, False)


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel gives no watch."""

    def refuse() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(module, "_start_observer", refuse)
    idle()


@pytest.mark.usefixtures("blind")
def test_without_a_watch_one_thread_looks_for_all(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many wait: what is counted is how often a folder is looked at."""
    looks: list[str] = []
    state = module._Watched._state

    def counted(watched: module._Watched) -> tuple[int, int, int]:
        looks.append(watched.path)
        return state(watched)

    monkeypatch.setattr(module._Watched, "_state", counted)
    path = str(folders[0])
    with ExitStack() as stack:
        told = [
            stack.enter_context(noticing(path, [f"{number}.json"]))
            for number in range(100)
        ]
        threads = len(watchers())
        joined = len(looks)
        time.sleep(module.LOOK_UNWATCHED_S * 4)
        in_between = len(looks) - joined
        (folders[0] / "7.json").touch()

        assert told[7].wait(LONG_S)
        assert not told[8].wait(0)
    idle()
    assert (threads, watchers()) == (1, [])
    assert in_between < 100 / 2


@pytest.mark.usefixtures("blind")
def test_a_folder_is_read_only_when_something_came(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at 100,000 answers, twenty times a second, would take the machine."""
    read: list[str] = []
    monkeypatch.setattr(module, "_TICK_NS", -1)
    monkeypatch.setattr(module, "LOOK_UNWATCHED_S", 0.001)
    listdir = os.listdir
    monkeypatch.setattr(
        "bridge.store.watcher.os.listdir", lambda p: read.append(p) or listdir(p)
    )
    with noticing(str(folders[0]), ["a"]) as changes:
        assert not changes.wait(0.1)
        before = len(read)
        (folders[0] / "a").touch()
        assert changes.wait(LONG_S)

    assert (before, len(read)) == (0, 1)


@pytest.mark.usefixtures("blind")
def test_what_comes_within_the_clocks_tick_is_seen(folders: list[Path]) -> None:
    """The kernel stamps two files alike that come shortly after each other."""
    with noticing(str(folders[0]), ["a"]) as changes:
        watched = module._hub._folders[0]
        before = os.stat(folders[0])
        (folders[0] / "a").touch()
        os.utime(folders[0], ns=(before.st_atime_ns, before.st_mtime_ns))
        watched._looked_ns = before.st_mtime_ns

        assert changes.wait(LONG_S)


@pytest.mark.parametrize("watch", ["watched", "blind"])
@pytest.mark.parametrize("what", ["removed", "replaced", "moved"])
def test_that_the_folder_goes_is_a_change(
    folders: list[Path], what: str, watch: str, request: pytest.FixtureRequest
) -> None:
    """And whoever waits at the same path next hears of what comes to the new one."""
    if watch == "blind":
        request.getfixturevalue("blind")
    here = folders[0]
    with noticing(str(here), ["a"]) as first:
        if what == "moved":
            here.rename(here.with_name("elsewhere"))
        else:
            here.rmdir()
        if what == "replaced":
            here.mkdir()

        assert first.wait(LONG_S)

        here.mkdir(exist_ok=True)
        with noticing(str(here), ["a"]) as second:
            (here / "a").touch()
            assert second.wait(LONG_S)


def test_a_folder_that_is_not_there_may_come(tmp_path: Path) -> None:
    with noticing(str(tmp_path / "later"), ["a"]) as changes:
        (tmp_path / "later").mkdir()

        assert changes.wait(LONG_S)


def test_a_child_made_by_fork_waits_by_itself(folders: list[Path]) -> None:
    """It has none of its parent's threads, and its locks as they were."""
    with noticing(str(folders[0]), ["mine"]) as inherited:
        with module._hub._lock:
            pid = os.fork()
            if not pid:
                os._exit(_in_child(folders, inherited))

        (folders[1] / "yours").touch()
        (folders[0] / "mine").touch()

        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert inherited.wait(LONG_S)


def _in_child(folders: list[Path], inherited: Changes) -> int:
    try:
        with noticing(str(folders[1]), ["yours"]) as own:
            # It may have come before: whoever waits looks first.
            while not (folders[1] / "yours").exists():
                own.wait(LONG_S)
        # Nobody watches for what was begun before the fork: it is looked for.
        while not (folders[0] / "mine").exists():
            assert inherited.wait(LONG_S)
    except BaseException:  # noqa: BLE001 - the parent reads the code
        return 1
    return 0


def test_it_can_be_used_again_and_again(folders: list[Path]) -> None:
    """Between two waits the watcher may be about to end, or have ended."""
    for number in range(30):
        with noticing(str(folders[0]), [f"{number}"]) as changes:
            (folders[0] / f"{number}").touch()

            assert changes.wait(LONG_S)
        if number % 3 == 0:
            idle()


class RungAsTimeIsUp(threading.Event):
    """An event that is set just after a wait for it has given up."""

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - given up
        self.set()
        return False


def test_a_change_as_the_time_is_up_is_told_the_next_time(tmp_path: Path):
    """A waiter and the watcher look at one pace: lost once, it was lost for ever."""
    with noticing(str(tmp_path), ["a"]) as changes:
        changes._rung = RungAsTimeIsUp()

        assert not changes.wait(0)
        assert changes._rung.is_set()
