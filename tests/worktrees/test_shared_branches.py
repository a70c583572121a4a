"""The branch of a worktree is used in no other: commits would undo commits."""

import pytest
from mergeworld import part

from bridge import worktrees
from bridge.worktrees import WorktreeRefused
from bridge.worktrees.worktree import write


def moved(repository, worktree):
    """Its owner has moved the folder elsewhere."""
    elsewhere = worktree.folder.with_name("elsewhere")
    repository.git("worktree", "move", str(worktree.folder), str(elsewhere))


def switched(repository, worktree):
    repository.git("worktree", "remove", str(worktree.folder))
    repository.git("switch", "-q", worktree.branch)


def rebased(repository, worktree):
    repository.git("worktree", "remove", str(worktree.folder))
    part(repository)
    repository.git("switch", "-q", worktree.branch)
    repository.write("a", "mine\n")
    repository.commit("mine")
    repository.git("rebase", "-q", "side", ok=False)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (moved, "is checked out in .*elsewhere"),
        (switched, "is checked out in"),
        (rebased, "is being rebased in"),
    ],
)
def test_error_a_worktree_is_not_made_again(repository, worktree, change, why):
    """As on `runs resume`."""
    change(repository, worktree)

    with pytest.raises(WorktreeRefused, match=why):
        worktrees.create(repository.folder, worktree.branch, worktree.folder)

    assert not worktree.folder.exists()


def test_error_a_half_made_one_is_not_finished(repository, worktree):
    repository.git("worktree", "remove", str(worktree.folder))
    repository.git("switch", "-q", worktree.branch)
    write(worktree.at("making"))

    with pytest.raises(WorktreeRefused, match="is checked out in"):
        worktrees.create(repository.folder, worktree.branch, worktree.folder)


def test_error_nothing_is_committed(repository, worktree):
    words = ("switch", "-q", "--ignore-other-worktrees", worktree.branch)
    repository.git(*words)
    repository.write("new", "x", cwd=worktree.folder)

    with pytest.raises(WorktreeRefused, match="is checked out in"):
        worktrees.commit(worktree, "work")

    assert repository.tip(worktree.branch) == worktree.start
