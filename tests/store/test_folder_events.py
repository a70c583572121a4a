"""A waiter is woken by the kernel, or looks from time to time where it cannot be."""

import os
import threading

import pytest
from programs import loaded_by
from watchdog.observers import inotify_c

from bridge.store import folder_events
from bridge.store.folder_events import FolderEvents

# Longer than a test may take: whoever waits for as long was not woken.
FOREVER_S = 3600


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Heard from the first look on; what is waited for at the end of a test, too."""
    monkeypatch.setattr(folder_events, "_AFTER_S", 0.0)
    yield
    assert folder_events._waiting.total() == 0


def test_an_answer_of_a_session_waits_for_no_library():
    """Most come within seconds: at that moment nothing else may be loaded."""
    code = """
from bridge.store.folder_events import FolderEvents
with FolderEvents(["/"]) as events:
    events._since_s -= 4
    events.wait(0.001)
"""
    assert "watchdog" not in loaded_by(code)


def test_a_file_wakes_all_who_wait(tmp_path):
    with FolderEvents([tmp_path]) as one, FolderEvents([tmp_path]) as other:
        for each in (one, other):
            each.wait(FOREVER_S)
        timer = threading.Timer(0.05, (tmp_path / "a").touch)
        timer.start()

        for each in (one, other):
            each.wait(FOREVER_S)
        timer.join()


def test_what_comes_between_a_look_and_the_wait_is_not_missed(tmp_path):
    with FolderEvents([tmp_path / "b", tmp_path]) as events:
        (tmp_path / "b").mkdir()
        events.wait(FOREVER_S)

        (tmp_path / "b" / "a").touch()
        events.wait(FOREVER_S)


def test_nothing_ends_a_wait_before_its_time(tmp_path):
    with FolderEvents([tmp_path]) as events:
        events.wait(FOREVER_S)

        events.wait(0.01)


@pytest.mark.parametrize("why", ["few are left", "no folder", "another process"])
def test_whoever_cannot_be_woken_looks(tmp_path, monkeypatch, why):
    """The client needs instances to hear us; a child has no thread of its parent's."""
    folders = [tmp_path]
    if why == "few are left":
        monkeypatch.setattr(inotify_c, "inotify_init", lambda: -1)
        monkeypatch.setattr(
            folder_events, "_started", folder_events._started.__wrapped__
        )
    elif why == "no folder":
        folders.append(tmp_path / "none")
    else:
        monkeypatch.setattr(os, "getpid", lambda: 1)

    with FolderEvents(folders) as events:
        events.wait(FOREVER_S)

        assert events._watches == []
        events.wait(FOREVER_S)


@pytest.mark.parametrize(
    ("waited_s", "threads", "pause_s"),
    [(0, 1, 0.005), (4, 1, 0.02), (1000, 1, 0.05), (1000, 300, 0.3)],
)
def test_the_longer_and_the_more_wait_the_seldomer_each_looks(
    monkeypatch, waited_s, threads, pause_s
):
    monkeypatch.setattr(threading, "active_count", lambda: threads)

    assert folder_events._pause_s(waited_s) == pause_s
