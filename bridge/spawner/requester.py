"""Who asks: the program, as the user of the open session will read it."""

from __future__ import annotations

import os
import sys

from bridge.host.reaction import one_line

_MAX = 60


def default_requester() -> str:
    """The program's name and pid, such as `pytest (pid 4711)`."""
    program = os.path.basename(sys.argv[0] or "") or "python"  # noqa: PTH119 - a name
    if program in ("__main__.py", "-c", "-m"):
        program = "python"
    return one_line(f"{program} (pid {os.getpid()})", _MAX)
