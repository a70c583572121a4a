"""For the tests of runs: a store to run them in."""

from __future__ import annotations

import pytest
from engine.pipeworld import PipeWorld


@pytest.fixture
def world(tmp_path):
    return PipeWorld(tmp_path)
