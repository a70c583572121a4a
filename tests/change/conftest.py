"""What tests of changes begin with: a repository, made by git."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from changeworld import made
from gitcomparison import two_branches

if TYPE_CHECKING:
    from pathlib import Path

    from gitworld import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return two_branches(tmp_path / "app")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return made(tmp_path / "app")
