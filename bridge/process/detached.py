"""Start a script of ours that outlives us: `bridge.worker.one_request`, and others."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def start_detached(script: Path, *words: str) -> bool:
    """Start a script that leaves us at once; whether it could start.

    On Esc the client ends its hooks with all their descendants: the script forks, and
    its first process ends.
    """
    # -P and `cwd`: no `bridge` of the project's is imported.
    try:
        started = subprocess.run(
            [sys.executable, "-EP", str(script), *words],
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
