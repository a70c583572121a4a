"""Fixtures for the store: a clock that stands still, and a store on it."""

import pytest
from storeworld import FakeClock, claim_all, place_in, request, store_in

from bridge.store.location import open_state


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def state(tmp_path):
    """The state directory, open."""
    with open_state(place_in(tmp_path)) as opened:
        yield opened


@pytest.fixture
def store(tmp_path, clock):
    return store_in(tmp_path, clock=clock)


@pytest.fixture
def mine(store):
    """A claimed request."""
    store.submit(request("a"))
    (taken,) = claim_all(store)
    return taken
