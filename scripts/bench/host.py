"""Real clients with our hooks, with empty ones, or with a bare wake-up."""

from __future__ import annotations

import copy
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from bench.world import FORM
from bridge.host.hook_table import entries
from bridge.testing.stage.client import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.testing.stage.api import ScriptedApi

    Table = dict[str, list[dict[str, Any]]]

# More agents an hour than any benchmark starts.
LIMITS = {"BRIDGE_AGENTS_PER_HOUR": "1000000"}


def our_hooks() -> Table:
    """The hooks that `hostbridge install` registers."""
    return entries(FORM)


def empty_hooks() -> Table:
    """The same hooks, each of which does nothing."""
    table = copy.deepcopy(our_hooks())
    for entry in (entry for group in table.values() for entry in group):
        for hook in entry["hooks"]:
            hook |= {"command": "/bin/true", "args": []}
    return table


def bare_bell(folder: Path) -> Table:
    """Only a watch on `folder` and a hook that wakes the session with two words."""
    folder.mkdir()
    watch = {"hookEventName": "SessionStart", "watchPaths": [str(folder)]}
    start = json.dumps({"hookSpecificOutput": watch})
    return {
        "SessionStart": [{"hooks": [_shell(f"printf '%s' '{start}'")]}],
        "FileChanged": [
            {
                "matcher": "wake",
                "hooks": [
                    _shell(f"rm '{folder}/wake' && echo wake up >&2 && exit 2")
                    | {"asyncRewake": True}
                ],
            }
        ],
    }


def bare_ring(folder: Path) -> Table:
    """Only a hook that waits for a FIFO in `folder`, and wakes with two words."""
    folder.mkdir()
    os.mkfifo(folder / "ring")
    wait = _shell(f"read line <'{folder}/ring'; echo wake up >&2; exit 2")
    return {"Stop": [{"hooks": [wait | {"asyncRewake": True}]}]}


def _shell(line: str) -> dict[str, Any]:
    return {"type": "command", "command": "/bin/sh", "args": ["-c", line]}


def world(
    root: Path, api: ScriptedApi, hooks: Table, env: Mapping[str, str] | None = None
) -> Stage:
    """A clean world for a client with these hooks."""
    root.mkdir()
    stage = Stage(root, api, extra_env={**LIMITS, **(env or {})})
    (stage.project / ".git").mkdir()
    (stage.project / "notes.txt").write_text("a line\n" * 20)
    stage.settings({"hooks": hooks, "permissions": {"allow": ["Bash", "Read"]}})
    return stage


def state_of(stage: Stage) -> Path:
    """The state directory of that world."""
    return stage.home / f".hostbridge/state{stage.project}/@"


def environment(stage: Stage) -> dict[str, str]:
    """The environment of a program that asks the client in that world."""
    return {**stage.environment(), "PYTHONPATH": ":".join(sys.path)}
