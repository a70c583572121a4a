"""How the comparison of a project with its last commit ends."""

import pytest
from aheadclock import AheadClock
from gitworld import git

from bridge.change import comparison, sides
from bridge.change.scope import Scope

# The usual method has the same alarm.
pytestmark = pytest.mark.timeout(300, method="thread")


def test_the_time_ends_among_files_that_take_little_each(tmp_path, monkeypatch):
    """Otherwise the reader is killed, and what it knew by then is lost."""
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("text\n")
    for number in range(1500):
        (tmp_path / f"empty{number}").touch()
    stat_at, clock = sides.stat_at, AheadClock()
    looked = []

    def slow_stat(root, path):
        looked.append(path)
        clock.ahead_s += 2 * path.startswith(b"empty")
        return stat_at(root, path)

    monkeypatch.setattr(sides, "stat_at", slow_stat)
    monkeypatch.setattr(comparison, "time", clock)
    until_s = clock.monotonic() + 1000
    change = comparison.compare(tmp_path, Scope(), until_s=until_s)

    assert "+text" in change.diff
    assert not change.is_whole
    assert len(looked) < 600
    assert change.notes[0] == (
        "The time for reading the change was up: there may be more"
    )
