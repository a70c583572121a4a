"""Measure a fork of the session beside an agent of its own, in one session.

Both are asked in turn, by the same hooks.

    hooks      processes that the client starts of ours, from the question on
    answer     from the question to the answer; a scripted model takes no time
    growth     how much longer the main thread's conversation became, in characters
"""

from __future__ import annotations

import copy
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from bench import host
from bench.table import Row
from bench.timing import Series
from bench.wakes import PAUSE_S, enter, open_bridge
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import obedient_model

if TYPE_CHECKING:
    from pathlib import Path

WHAT = (("hooks", "processes"), ("question -> answer", "s"), ("growth", "characters"))
# No figure may be larger: a fork is an agent like any other.
MOST_HOOKS = 1.0


def measure(root: Path, rounds: int) -> list[Row]:
    """Ask each of the two so often, in turn, at least twice."""
    started = root / "started"
    with ExitStack() as stack:
        api = stack.enter_context(ScriptedApi(obedient_model()))
        stage = host.world(root / "world", api, _counted(started))
        enter(stack, stage, "stream")
        bridge = open_bridge(stage)
        # The user's yes.
        settings = bridge.store.place.state / "config.toml"
        settings.write_text("share_conversation = true\n")
        settings.chmod(0o600)
        found: dict[str, list[list[float]]] = {"plain": [], "fork": []}
        for how in ["plain", "fork"] * max(2, rounds):
            time.sleep(PAUSE_S)
            before = _size(api), _lines(started)
            began = time.monotonic()
            options: dict[str, Any] = {"context": "session"} if how == "fork" else {}
            bridge.ask("What did we decide?", timeout_s=60, **options)
            took = time.monotonic() - began
            time.sleep(PAUSE_S)
            grown = _size(api) - before[0]
            found[how].append([_lines(started) - before[1], took, grown])
    return [
        Row(
            f"a fork: {name}",
            *(Series([each[at] for each in found[how]]) for how in ("fork", "plain")),
            goal=MOST_HOOKS if name == "hooks" else None,
            unit=unit,
        )
        for at, (name, unit) in enumerate(WHAT)
    ]


def _counted(file: Path) -> dict[str, list[dict[str, Any]]]:
    """Our hooks, and beside each of them one that writes a line."""
    table = copy.deepcopy(host.our_hooks())
    line = {"type": "command", "command": "/bin/sh", "args": ["-c", f"echo >>'{file}'"]}
    for entry in (entry for group in table.values() for entry in group):
        entry["hooks"] += [line] * len(entry["hooks"])
    return table


def _lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


def _size(api: ScriptedApi) -> int:
    return api.turns("main")[-1].size_bytes
