"""Three layers of definitions for every test here."""

import pytest
from agentworld import LINT, World


@pytest.fixture
def world(tmp_path):
    """Three empty layers."""
    return World(tmp_path)


@pytest.fixture
def lint(world):
    """A subagent definition of the user's, with the files that it names."""
    for name in ("models/lint.gguf", "tools/run.pym", "tools/config.pym"):
        world.write(name, f"# {name}\n")
    world.write("tools/submit.pym", "'noted'\n")
    return world.write("lint.yaml", LINT)
