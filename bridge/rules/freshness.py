"""Whether the rules in the state are compiled from the files as they are now.

Quick: every event asks, and the standard library only. The shell halves of the hooks
ask the same about rules.yaml (hooks/lib.sh). Rule sets bind agents of ours alone, at
whose calls the gate asks.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Literal

    from bridge.config import Settings
    from bridge.freshness.looks import Look
    from bridge.store.location import Place

# A layer's own rules, and the folder of its rule sets.
FILE = "rules.yaml"
SETS_FOLDER = "rules"
FOLDER = "rules"
# Of the files of sets that were compiled, their times by path.
SETS = "sets.json"
# Errors in the files, and files that wait for trust, if there are any.
PROBLEMS = "problems.json"
# How many rule sets a layer may have; the files are read at the first event after a
# change, whoever wrote them.
MAX_SETS = 64


def is_fresh(settings: Settings, place: Place) -> bool:
    """Whether each layer's file has the time that was noted, or is not there still."""
    # Without paths, which the hook of `claude -p` has not loaded.
    folders = {"user": f"{settings.home}", "project": f"{place.owner}/.bridge"}
    files = {layer: f"{each}/{FILE}" for layer, each in folders.items()}
    folder = f"{place.state}/{FOLDER}"
    sets = times_of_sets(folders.values())
    if not os.path.lexists(f"{folder}/variables.json"):
        # Nothing was ever compiled here: there may be nothing to compile.
        return not sets and not any(map(os.path.lexists, files.values()))
    return sets == _noted(folder) and all(
        _time_of(file) == _time_of(f"{folder}/{layer}.stamp")
        for layer, file in files.items()
    )


def folders_of(
    settings: Settings, place: Place
) -> dict[Literal["built-in", "user", "project"], Path]:
    """The folder of each layer's rules."""
    return {"user": settings.home, "project": place.owner / ".bridge"}


def looks_of(settings: Settings, place: Place, since_ms: int) -> Iterator[Look]:
    """The rules files that may have bound an agent which began at `since_ms`.

    What they add, an agent has seen. Where a project has rules, whether they are
    trusted counts, too.
    """
    from bridge.freshness.looks import Look

    for folder in map(str, folders_of(settings, place).values()):
        yield Look("file", f"{folder}/{FILE}", "", since_ms)
        yield Look("contents", f"{folder}/{SETS_FOLDER}", "*.yaml", since_ms)
    projects = f"{place.owner}/.bridge"
    if any(os.path.lexists(f"{projects}/{name}") for name in (FILE, SETS_FOLDER)):
        from bridge.agents import trust

        yield Look("file", f"{settings.home}/{trust.FILE}", "", since_ms)


def times_of_sets(layers: Iterable[str]) -> dict[str, int | None]:
    """The times of the files of rule sets, by path."""
    found = {}
    for layer in layers:
        for name in names_of_sets(layer):
            path = f"{layer}/{SETS_FOLDER}/{name}"
            found[path] = _time_of(path)
    return found


def names_of_sets(layer: str | Path) -> list[str]:
    """The files of a layer's rule sets, in order: at most one more than it may have."""
    try:
        names = os.listdir(f"{layer}/{SETS_FOLDER}")
    except OSError:
        return []
    found = [name for name in names if name.endswith(".yaml") and name[0] != "."]
    # Other names no definition can choose; a stranger's need not even be text.
    plain = [name for name in found if name.isascii() and name.isprintable()]
    return sorted(plain)[: MAX_SETS + 1]


def is_set_changed(state: str) -> bool:
    """Whether a rule set that was compiled is another file now, or gone."""
    noted = _noted(f"{state}/{FOLDER}")
    return any(_time_of(path) != time for path, time in noted.items())


def _noted(folder: str) -> dict[str, int | None]:
    with suppress(OSError, ValueError), open(f"{folder}/{SETS}", "rb") as file:
        return dict(json.load(file))
    return {}


def _time_of(path: str) -> int | None:
    facts = identity_of(path)
    return None if facts is None else facts.st_mtime_ns


def identity_of(path: str | Path) -> os.stat_result | None:
    """What a file is; None if there is none."""
    try:
        return os.stat(path)
    except OSError:
        return None
