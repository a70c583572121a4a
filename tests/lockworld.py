"""`answers.lock` of a project, and a clone that has nothing else."""

import shutil
from pathlib import Path

from cachedworld import CachedWorld

from bridge.api.bridge import Bridge
from bridge.freshness.lock_file import HEAD

DIGEST = "ab" * 32
GOOD = f"""{HEAD}

answer {DIGEST}
  agent "checker"
  asked "Look."
  file {DIGEST} "src/a.py"
"""


def lock(world: CachedWorld) -> Path:
    return world.project / "answers.lock"


def clone(world: CachedWorld, folder: Path) -> Bridge:
    """A checkout elsewhere, on a machine where nothing was ever asked."""
    shutil.copytree(world.project, folder, symlinks=True)
    settings = world.bridge.settings.with_(home=folder.parent / "fresh home")
    return Bridge(settings, folder)


def states(bridge: Bridge, folder: Path) -> dict[str, str]:
    found = bridge.check_lock(folder / "answers.lock")
    return {each.asked: each.state for each in found}
