"""`answers.lock` of a project, and a clone that has nothing else."""

import json
import shutil
from pathlib import Path

from cachedworld import CachedWorld

from bridge.api.bridge import Bridge

DIGEST = "ab" * 32
HEAD = '{"hostbridge answers": 2, "check": "hostbridge stale --lock answers.lock"}'
ANSWER = f'{{"answer": "{DIGEST}", "agent": "checker", "asked": "Look."}}'
GOOD = f"""{HEAD}
{ANSWER}
{{"file": "src/a.py", "sha256": "{DIGEST}"}}
"""


def item(kind: str, path: str, *patterns: str, digest: str = DIGEST) -> str:
    """A line about one thing that an answer rests on."""
    more = {"patterns": list(patterns), "sha256": digest}
    return json.dumps({kind: path, **{name: more[name] for name in more if more[name]}})


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
