"""One redis-server for the tests of a process; each test has a queue of its own."""

import secrets
from collections.abc import Iterator

import pytest
import redisworld
from redisworld import Server, Side

from bridge.remote.keys import Address


@pytest.fixture(scope="session")
def shared() -> Iterator[Server]:
    with redisworld.server() as made:
        yield made


@pytest.fixture
def address(shared: Server) -> Address:
    return shared.address._replace(name=f"q{secrets.token_hex(4)}")


@pytest.fixture
def asker(address: Address) -> Side:
    return Side(address, "asks")


@pytest.fixture
def server(address: Address) -> Side:
    return Side(address, "serves")
