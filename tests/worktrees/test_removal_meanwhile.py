"""What happens in a worktree while it is removed, or after a removal was killed."""

import os
import time

import pytest

from bridge import worktrees
from bridge.worktrees import RepositoryBusy, UnsavedWork, WorktreeRefused, removal


def after_the_look(monkeypatch, act):
    """Do something when the look has found nothing, before anything is removed."""
    look = removal.refuse_loss

    def late(*seen):
        look(*seen)
        time.sleep(0.02)
        act()

    monkeypatch.setattr(removal, "refuse_loss", late)


@pytest.mark.parametrize("path", ["new", "sub/new", "a"])
def test_error_what_is_written_after_the_look(worktree, monkeypatch, path):
    """An agent may still be at work while its run is cancelled."""
    (worktree.folder / "sub").mkdir()
    after_the_look(monkeypatch, lambda: (worktree.folder / path).write_text("late"))

    with pytest.raises(UnsavedWork, match=f"holds {path}, written while it was to be"):
        worktrees.remove(worktree)

    assert (worktree.folder / path).read_text() == "late"
    assert worktrees.status(worktree).exists
    assert worktrees.status(worktree).changed == (path,)


def test_what_git_ignores_may_be_written_until_the_end(worktree, monkeypatch):
    """A server may write its log all the time."""
    after_the_look(monkeypatch, lambda: (worktree.folder / "x.log").write_text("late"))

    worktrees.remove(worktree)

    assert not worktree.folder.exists()


def test_error_what_is_committed_after_the_look(repository, worktree, monkeypatch):
    after_the_look(
        monkeypatch,
        lambda: repository.git(
            "commit", "-q", "--allow-empty", "-m", "late", cwd=worktree.folder
        ),
    )

    with pytest.raises(RepositoryBusy, match="has moved meanwhile"):
        worktrees.remove(worktree)
    monkeypatch.undo()

    assert repository.git("log", "-1", "--format=%s", worktree.branch).strip() == "late"
    with pytest.raises(UnsavedWork, match="1 commits"):
        worktrees.remove(worktree)


def test_error_what_is_written_while_a_removal_was_killed(worktree, monkeypatch):
    """A program that works in the folder finds it by whatever name."""
    monkeypatch.setattr(removal, "remove_all", killed)
    shell = os.open(worktree.folder, os.O_RDONLY)
    with pytest.raises(KeyboardInterrupt):
        worktrees.remove(worktree)
    monkeypatch.undo()
    os.close(os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=shell))
    os.close(shell)

    with pytest.raises(UnsavedWork, match="holds new not committed"):
        worktrees.create(worktree.project, worktree.branch, worktree.folder)

    assert (worktree.folder / "new").exists()


def test_error_a_folder_that_was_made_anew_while_a_removal_was_killed(
    worktree, monkeypatch
):
    monkeypatch.setattr(removal, "remove_all", killed)
    with pytest.raises(KeyboardInterrupt):
        worktrees.remove(worktree)
    monkeypatch.undo()
    worktree.folder.mkdir()

    with pytest.raises(WorktreeRefused, match="was made anew while"):
        worktrees.remove(worktree)


def killed(*_seen: object, **_more: object) -> None:
    raise KeyboardInterrupt
