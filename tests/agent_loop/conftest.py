"""A project for every test of the loop, alone or with a scripted model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from runworld import World

from bridge.agent_loop.file_tools import Reader
from bridge.agent_loop.workspace import Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    folder = tmp_path / "project"
    folder.mkdir()
    return World(folder)


@pytest.fixture
def folder(world: World, tmp_path: Path) -> Path:
    """A project with three files, and one file beside it."""
    world.write("src/app.py", "import os\nprint('héllo')\n")
    world.write("src/deep/b.py", "x = 1\n")
    world.write("notes.md", "# Notes\n")
    (tmp_path / "outside.txt").write_text("outside")
    return world.project


@pytest.fixture
def reader(folder: Path) -> Reader:
    return Reader(Project(folder))
