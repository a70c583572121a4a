"""What tests of changes begin with: a repository, made by git."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from changeworld import made
from gitcomparison import two_branches

from bridge.change.collect import read_change

if TYPE_CHECKING:
    from pathlib import Path

    from gitworld import Repository


@pytest.fixture(autouse=True)
def _has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long it takes depends on what else the machine does."""
    defaults = read_change.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "timeout_s", 300.0)


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return two_branches(tmp_path / "app")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return made(tmp_path / "app")
