"""Fixtures for the store: a clock that stands still, and a store on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from storeworld import FakeClock, claim_all, place_in, request, store_in

from bridge.store.location import open_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.protocol.request import Request
    from bridge.store.directory import Folder
    from bridge.store.store import Store


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Folder]:
    """The state directory, open."""
    with open_state(place_in(tmp_path)) as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Store:
    return store_in(tmp_path, clock=clock)


@pytest.fixture
def mine(store: Store) -> Request:
    """A claimed request."""
    store.submit(request("a"))
    (taken,) = claim_all(store)
    return taken
