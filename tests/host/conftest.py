"""What most tests of hooks begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from flow.simulation import plan_of
from hookworld import HookWorld, hook_world

from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.host import asking

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    with hook_world(tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
def begun(world):
    """Begin a run of a flow beside a session that is open."""

    def begin_(source, name="f", **params):
        with world.store.state() as state:
            run = begin(state, plan_of(source), name=name, params=params)
        advance(world.store, world.bridge.settings, run)
        return run

    return begin_


@pytest.fixture
def short_hold(monkeypatch):
    """A hook that does not hold an agent for long when it asks."""
    monkeypatch.setattr(asking, "HOLD_S", 0.1)
