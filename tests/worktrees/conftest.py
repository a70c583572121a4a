"""A repository, and worktrees of ours made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gitworld import Repository

from bridge import worktrees

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.worktrees import Worktree


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "app")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def worktree(repository: Repository, state: Path) -> Worktree:
    """One on the branch `hostbridge/run1/dev`."""
    folder = worktrees.folder_of(state, "run1", "dev")
    return worktrees.create(repository.folder, "hostbridge/run1/dev", folder)
