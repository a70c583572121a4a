"""For the tests of runs: a store to run them in."""

import pytest
from engine.pipeworld import PipeWorld


@pytest.fixture
def world(tmp_path):
    return PipeWorld(tmp_path)
