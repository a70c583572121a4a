"""What only a worktree's own git folder holds is work, with or without its files."""

import os
import shutil

import pytest
from gitworld import ENV

from bridge import worktrees
from bridge.worktrees import UnsavedWork


def moved(worktree):
    shutil.move(worktree.folder, worktree.folder.with_name("elsewhere"))


def linked(worktree):
    moved(worktree)
    worktree.folder.symlink_to("elsewhere")


def gone(worktree):
    shutil.rmtree(worktree.folder)


def stays(_worktree):
    pass


@pytest.mark.parametrize("change", [moved, linked, gone])
def test_error_commits_on_no_branch_without_the_folder(repository, worktree, change):
    repository.git("switch", "-q", "--detach", cwd=worktree.folder)
    repository.write("new", "x", cwd=worktree.folder)
    made = repository.commit("loose", cwd=worktree.folder)
    change(worktree)

    with pytest.raises(UnsavedWork, match="1 commits that are in no other branch"):
        worktrees.remove(worktree)

    assert made in repository.git("worktree", "list", "--porcelain")


@pytest.mark.parametrize("on", ["its branch", "that reference"])
@pytest.mark.parametrize("change", [stays, gone])
def test_error_a_reference_of_its_own(repository, worktree, change, on):
    tree = worktree.folder
    repository.git("switch", "-q", "--detach", cwd=tree)
    repository.write("new", "x", cwd=tree)
    repository.commit("loose", cwd=tree)
    repository.git("update-ref", "refs/worktree/mine", "HEAD", cwd=tree)
    if on == "its branch":
        repository.git("switch", "-q", worktree.branch, cwd=tree)
    else:
        repository.git("symbolic-ref", "HEAD", "refs/worktree/mine", cwd=tree)
    change(worktree)

    with pytest.raises(UnsavedWork, match="1 commits that are in no other branch"):
        worktrees.remove(worktree)


@pytest.mark.parametrize("change", [stays, gone])
def test_error_a_rebase_that_is_not_finished(repository, worktree, monkeypatch, change):
    """It has put aside what was not committed."""
    repository.write("new", "x", cwd=worktree.folder)
    worktrees.commit(worktree, "work")
    worktrees.merge(repository.folder, worktree.branch, "main")
    repository.write("a", "not committed", cwd=worktree.folder)
    monkeypatch.setitem(ENV, "GIT_SEQUENCE_EDITOR", "sed -i 1ibreak")
    words = ("rebase", "-q", "-i", "--autostash", "HEAD~1")
    repository.git(*words, cwd=worktree.folder)
    assert worktrees.status(worktree).changed == ()

    change(worktree)
    with pytest.raises(UnsavedWork, match="a rebase or the like that is not finished"):
        worktrees.remove(worktree)

    worktrees.remove(worktree, discard=True)
    assert not os.path.lexists(worktree.folder)
