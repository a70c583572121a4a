"""Fixtures for the store: a clock that stands still, and a store on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from storeworld import FakeClock, claim_all, request, store_in

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.protocol.request import Request
    from bridge.store.store import Store


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Store:
    return store_in(tmp_path, clock=clock)


@pytest.fixture
def mine(store: Store) -> Request:
    """A claimed request."""
    store.submit(request("a"))
    (taken,) = claim_all(store)
    return taken
