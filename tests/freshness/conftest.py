"""Projects whose agents answer: by our own loop, as in a session, and in a lock."""

import pytest
from cachedworld import GLOBS, GREPS, READS, RUNS, CachedWorld
from hookworld import hook_world
from servingworld import bridge_in
from sessionlooks import write


@pytest.fixture
def world(tmp_path, monkeypatch):
    bridge = bridge_in(tmp_path, openai_model="scripted")
    monkeypatch.setenv("HOME", str(bridge.settings.home.parent))
    monkeypatch.setenv("BRIDGE_HOME", str(bridge.settings.home))
    return CachedWorld(bridge, monkeypatch)


@pytest.fixture
def session(tmp_path, monkeypatch):
    with hook_world(tmp_path, monkeypatch) as world:
        write(world, "src/a.py")
        yield world


@pytest.fixture
def locked(world):
    """One answer that rests on Read, Glob, Grep and Bash each."""
    world.write("src/a.py")
    world.write("src/notes.txt")
    for prompt, calls in {"R": READS, "G": GLOBS, "S": GREPS, "B": RUNS}.items():
        world.answer(calls, prompt=prompt)
    return world
