"""A session whose client calls the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hookworld import HookWorld, hook_world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    with hook_world(tmp_path, monkeypatch) as world:
        yield world
