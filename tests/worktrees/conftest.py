"""A repository, and worktrees of ours made from it."""

import pytest
from gitworld import Repository

from bridge import worktrees


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "app")


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def worktree(repository, state):
    """One on the branch `hostbridge/run1/dev`."""
    folder = worktrees.folder_of(state, "run1", "dev")
    return worktrees.create(repository.folder, "hostbridge/run1/dev", folder)
