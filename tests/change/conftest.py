"""What the comparisons with git begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gitcomparison import two_branches

if TYPE_CHECKING:
    from pathlib import Path

    from gitworld import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return two_branches(tmp_path / "app")
