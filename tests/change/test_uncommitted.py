"""How the comparison of a project with its last commit ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from dulwich.repo import Repo

from bridge.change import uncommitted

if TYPE_CHECKING:
    import os
    from pathlib import Path

# The usual method has the same alarm.
pytestmark = pytest.mark.timeout(300, method="thread")


def test_the_time_ends_among_files_that_take_little_each(tmp_path, monkeypatch):
    """Otherwise the reader is killed, and what it knew by then is lost."""
    Repo.init(tmp_path).close()
    (tmp_path / "a.txt").write_text("text\n")
    for number in range(1500):
        (tmp_path / f"empty{number}").touch()
    stat_at = uncommitted.stat_at

    def slow_stat(root: Path, path: bytes) -> os.stat_result | None:
        time.sleep(0.002)
        return stat_at(root, path)

    monkeypatch.setattr(uncommitted, "stat_at", slow_stat)
    diff, notes = uncommitted.changed(tmp_path, until_s=time.monotonic() + 1)

    assert "+text" in diff
    assert notes[0] == "The time for reading the change was up: there may be more"
