"""A project and a scripted model for every test of the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from runworld import World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    folder = tmp_path / "project"
    folder.mkdir()
    return World(folder)
