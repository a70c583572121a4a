"""Whether the rules in the state are compiled from the files as they are now.

Quick: every event asks. The shell halves of the hooks ask the same (hooks/rules.sh).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.config import Settings
    from bridge.store.location import Place

FOLDER = "rules"


def is_fresh(settings: Settings, place: Place) -> bool:
    """Whether each layer's file has the time that was noted, or is not there still."""
    files = {
        "user": f"{settings.home}/rules.yaml",
        "project": f"{place.owner}/.bridge/rules.yaml",
    }
    folder = f"{place.state}/{FOLDER}"
    if not os.path.lexists(f"{folder}/variables.json"):
        # Nothing was ever compiled here: there may be nothing to compile.
        return not any(map(os.path.lexists, files.values()))
    return all(
        _time_of(file) == _time_of(f"{folder}/{layer}.stamp")
        for layer, file in files.items()
    )


def _time_of(path: str) -> int | None:
    facts = identity_of(path)
    return None if facts is None else facts.st_mtime_ns


def identity_of(path: str | Path) -> os.stat_result | None:
    """What a file is; None if there is none."""
    try:
        return os.stat(path)
    except OSError:
        return None
