"""A folder with many files costs as much more as it has files, not their square."""

import time

from bridge.worktrees.attributes import check_unfiltered
from bridge.worktrees.repository import opened


def test_the_attributes_of_a_large_folder_in_a_commit(repository):
    """Its tree is read once, not for each file."""
    paths = [f"{number}.txt" for number in range(1200)]
    for path in paths:
        (repository.folder / path).touch()
    head = repository.commit("many")

    def seconds(*commits):
        start = time.process_time()
        check_unfiltered(git, paths, "write it", *commits)
        return time.process_time() - start

    with opened(repository.folder) as git:
        without, with_commit = seconds(), seconds(head)

    assert with_commit < 8 * without
