"""Three layers of definitions for every test here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from agentworld import World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Three empty layers."""
    return World(tmp_path)
