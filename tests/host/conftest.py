"""What most tests of hooks begin with."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import flowruns
import pytest
from forkworld import outside
from gitworld import Repository
from hookworld import HookWorld, hook_world

from bridge import worktrees
from bridge.host import asking


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    with hook_world(tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
def tree(world):
    """A worktree of the session's project, as a run makes it."""
    Repository(world.project)
    folder = worktrees.folder_of(world.store.place.state, "run1", "dev")
    return worktrees.create(world.project, "hostbridge/run1/dev", folder).folder


@pytest.fixture
def begun(world):
    """Begin a run of a flow beside a session that is open."""
    return partial(flowruns.begun, world)


@pytest.fixture
def program(world):
    """The bridge of a program that no session has started."""
    return outside(world)


@pytest.fixture
def short_hold(monkeypatch):
    """A hook that does not hold an agent for long when it asks."""
    monkeypatch.setattr(asking, "HOLD_S", 0.1)
