"""What git makes of a file of ours: asked of git itself, which runs nothing for it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT_S = 5


def shows_untracked(project: Path, file: Path) -> bool:
    """Whether `git status` in `project` lists `file` as untracked; False without git.

    A repository that came as an archive may name a program as its file monitor: that
    one setting of its is not obeyed.
    """
    if not file.is_relative_to(project):
        return False
    listing = ("ls-files", "--others", "--exclude-standard", "--", str(file))
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *listing],
            cwd=project,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout)
