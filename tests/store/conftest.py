"""Fixtures for the store: a clock that stands still, and a store on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from storeworld import FakeClock, store_in

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.store.files import FileStore


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> FileStore:
    return store_in(tmp_path, clock=clock)
