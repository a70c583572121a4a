"""What `ask --watch` counts as a change of what an answer rests on."""

import pytest
from storeworld import FakeClock

from bridge.api.watching import MOST_S, Watched
from bridge.freshness.disk import Disk
from bridge.freshness.reads import Entry, Reads


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "build.log"
    file.write_text("begun\n")
    return file


@pytest.fixture
def watched(log, clock):
    disk, path = Disk(), str(log)
    seen = disk.see(path)
    entry = Entry(seen.kind, disk.digest(path, seen.kind), seen.facts)
    reads = Reads("", "", str(log.parent), "", 0, files={path: entry})
    return Watched(reads, clock=clock)


def append(file):
    with file.open("a") as opened:
        opened.write("more\n")


def test_a_change_counts_once_it_is_quiet(watched, log):
    append(log)

    assert [watched.has_changed() for _ in range(2)] == [False, True]
    assert watched.restless == ""


def test_what_never_comes_to_rest_counts_in_the_end(watched, log, clock):
    """A log that is written all the time: else it would hide every other change."""
    clock.go_on(3600)
    looks = []
    for _ in range(4):
        append(log)
        looks.append(watched.has_changed())
        clock.go_on(MOST_S / 3)

    assert looks == [False, False, False, True]
    assert watched.restless == str(log)


def test_what_is_as_it_was_begins_anew(watched, log, clock):
    """Only a change that lasts is one; how long ago there was another is no matter."""
    log.write_text("changed\n")
    assert not watched.has_changed()
    clock.go_on(2 * MOST_S)
    log.write_text("begun\n")
    assert not watched.has_changed()
    append(log)

    assert not watched.has_changed()
