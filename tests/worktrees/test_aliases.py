"""A branch that is another name of one (`git symbolic-ref`)."""

import pytest
from mergeworld import done, merge

from bridge import worktrees
from bridge.worktrees import Merged, WorktreeRefused


@pytest.mark.parametrize("head", ["main", "alias"])
@pytest.mark.parametrize("into", ["main", "alias"])
def test_a_merge_moves_what_it_names_and_the_files_follow(
    repository, worktree, head, into
):
    repository.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    repository.git("symbolic-ref", "HEAD", f"refs/heads/{head}")
    made = done(repository, worktree, a="x")

    assert merge(repository, into) == Merged(made, "fast-forward")

    assert repository.tip("main") == repository.tip("alias") == made
    named = repository.git("symbolic-ref", "refs/heads/alias").strip()
    assert named == "refs/heads/main"
    assert (repository.folder / "a").read_text() == "x"
    assert repository.status() == []


def test_error_the_branch_of_a_worktree_became_one(repository, worktree):
    """A commit would make it a branch again."""
    own = f"refs/heads/{worktree.branch}"
    repository.git("branch", "other")
    repository.git("symbolic-ref", own, "refs/heads/other")
    repository.write("a", "x", cwd=worktree.folder)

    with pytest.raises(WorktreeRefused, match="is now another name of refs/heads/oth"):
        worktrees.commit(worktree, "work")

    assert repository.git("symbolic-ref", own).strip() == "refs/heads/other"
