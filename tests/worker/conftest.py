"""A project with an agent of our own loop."""

import pytest
from aheadclock import AheadClock
from loopworld import Loop
from servingworld import bridge_in


@pytest.fixture
def loop(tmp_path, monkeypatch):
    """It asks for the route endpoint, where a scripted model answers."""
    bridge = bridge_in(tmp_path, clock=AheadClock())
    monkeypatch.setenv("HOME", str(bridge.settings.home.parent))
    monkeypatch.setenv("BRIDGE_HOME", str(bridge.settings.home))
    return Loop(bridge, monkeypatch)
