"""A project whose agent answers by our own loop, and how often its model was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cachedworld import CachedWorld
from servingworld import bridge_in

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CachedWorld:
    bridge = bridge_in(tmp_path, openai_model="scripted")
    monkeypatch.setenv("HOME", str(bridge.settings.home.parent))
    monkeypatch.setenv("BRIDGE_HOME", str(bridge.settings.home))
    return CachedWorld(bridge, monkeypatch)
