"""Whether anybody else has changed a folder, however soon."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bridge.store.untouched import Untouched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path, os.O_RDONLY)
    yield opened
    os.close(opened)


def test_a_change_of_others_shows_within_the_same_tick(fd: int, tmp_path: Path):
    for number in range(200):
        untouched = Untouched(fd)
        (tmp_path / f"theirs-{number}").touch()

        assert untouched.since_ns() is None


def test_a_change_of_ours_does_not_show(fd: int, tmp_path: Path):
    untouched = Untouched(fd)

    for number in range(200):
        with untouched.but_for_us():
            (tmp_path / f"ours-{number}").touch()

    assert untouched.since_ns() == os.fstat(fd).st_mtime_ns


def test_a_change_of_others_between_ours_shows(fd: int, tmp_path: Path):
    for number in range(200):
        untouched = Untouched(fd)
        with untouched.but_for_us():
            (tmp_path / f"ours-{number}").touch()
        (tmp_path / f"theirs-{number}").touch()
        with untouched.but_for_us():
            (tmp_path / f"ours-{number}-2").touch()

        assert untouched.since_ns() is None


def test_it_goes_on_from_a_time_that_was_told_before(fd: int, tmp_path: Path):
    before = Untouched(fd).since_ns()
    assert Untouched(fd, before).since_ns() == before

    (tmp_path / "theirs").touch()

    assert Untouched(fd, before).since_ns() is None


def test_a_folder_that_has_settled_keeps_its_time(fd: int):
    os.utime(fd, ns=(5, 5))

    assert Untouched(fd).since_ns() == 5
    assert os.fstat(fd).st_mtime_ns == 5
