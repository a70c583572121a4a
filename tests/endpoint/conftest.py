"""A scripted server for every test of the endpoint."""

import pytest
from scripted_server import ScriptedServer


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server
