"""A file that was written right after it was staged: git sees that after a merge, too.

Git compares times and sizes. What was written in the second in which the index was is
read once more, as long as the index is no newer.
"""

import os

from mergeworld import done, merge


def test_a_change_in_the_moment_of_the_last_commit_is_seen(repository, worktree):
    done(repository, worktree, new="x")
    file, index = repository.folder / "a", repository.folder / ".git/index"
    file.write_text("one\n")
    then = 1_700_000_000 * 10**9
    os.utime(file, ns=(then, then))
    # By times of change, which nobody can set, git would see it here.
    repository.git("config", "core.trustctime", "false")
    repository.commit("mine")
    with file.open("r+") as same:
        same.write("ONE\n")
    for place in (file, index):
        os.utime(place, ns=(then, then))
    assert repository.git("--no-optional-locks", "diff", "--name-only") == "a\n"

    merge(repository)

    assert repository.status() == [" M a"]
