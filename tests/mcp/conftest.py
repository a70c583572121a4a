"""A session whose client calls the server, which it has started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hookworld import HookWorld

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HookWorld:
    """This process is the client."""
    world = HookWorld(tmp_path, monkeypatch, os.getpid())
    world.fire("SessionStart", source="startup")
    return world
