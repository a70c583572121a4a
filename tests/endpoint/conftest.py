"""A scripted server for every test of the endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scripted_server import ScriptedServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
