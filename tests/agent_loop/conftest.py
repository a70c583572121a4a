"""A project for every test of the loop, alone or with a scripted model."""

import pytest
from runworld import World

from bridge.agent_loop.file_tools import FileReader
from bridge.agent_loop.workspace import Project


@pytest.fixture
def world(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return World(folder)


@pytest.fixture
def folder(world, tmp_path):
    """A project with three files, and one file beside it."""
    world.write("src/app.py", "import os\nprint('héllo')\n")
    world.write("src/deep/b.py", "x = 1\n")
    world.write("notes.md", "# Notes\n")
    (tmp_path / "outside.txt").write_text("outside")
    return world.project


@pytest.fixture
def reader(folder):
    return FileReader(Project(folder))
