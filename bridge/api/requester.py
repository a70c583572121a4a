"""Who asks: the program's name, as the user of the open session will read it."""

from __future__ import annotations

import os
import sys

from bridge.host.output import one_line
from bridge.store.host_process import name_of

_MAX = 60
# If we were started as one of these, our parent is the program that asks.
_OURSELVES = frozenset({"hostbridge", "__main__.py"})


def default_requester() -> str:
    """The program's name and pid, such as `pytest (pid 4711)`.

    For the command line that is the program that ran it: a shell, make, a script.
    """
    program, pid = os.path.basename(sys.argv[0] or ""), os.getpid()
    if program in _OURSELVES:
        pid = os.getppid()
        program = name_of(pid) or "a program"
    if program in ("", "-c", "-m"):
        program = "python"
    return one_line(f"{program} (pid {pid})", _MAX)
