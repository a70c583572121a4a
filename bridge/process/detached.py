"""Start a process of ours that outlives us: it calls `detached` of a module."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.store.location import Place

_SCRIPT = Path(__file__).parents[1] / "worker" / "detached_main.py"


def start_detached(place: Place, module: str, *words: str) -> bool:
    """Have `detached` of a module called for a project; whether it could start.

    On Esc the client ends its hooks with all their descendants: the script forks, and
    its first process ends.
    """
    # -P and `cwd`: no `bridge` of the project's is imported.
    given = [json.dumps(place.words()), module, *words]
    try:
        started = subprocess.run(
            [sys.executable, "-EP", str(_SCRIPT), *given],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            check=False,
        )
    except OSError:
        return False
    return started.returncode == 0
