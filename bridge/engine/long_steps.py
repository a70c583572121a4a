"""Steps that take longer than a hook may: programs, worktrees, headless agents.

Whoever advances a run finds them, and starts a process for them that leaves at once
(`bridge.worker.long_work`), unless it does them itself. Whoever does one holds its
claim, a lock that goes with its holder: a kill leaves the step to whoever looks next.
"""

from __future__ import annotations

import errno
import fcntl
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from bridge import own_files
from bridge.process.detached import start_detached
from bridge.store.lock import lock_in

if TYPE_CHECKING:
    from io import FileIO

    from bridge.engine.results import StepResult
    from bridge.store.directory import Folder
    from bridge.store.location import Place

# A look at a claim takes a moment, in which its holder-to-be may come.
_CLAIM_S = 1.0
_LOOK = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CANCELLED: Final[StepResult] = {
    "how": "error",
    "why": "the pipeline goes on without it",
    "output": None,
}


class LongStep(NamedTuple):
    """A step that is to be done, and the id of what it does."""

    run: str
    node: str
    asked: str


def is_claimed(folder: Folder, asked: str) -> bool:
    """Whether somebody does a step of the run in `folder`."""
    try:
        file = own_files.open_file(_name(asked), _LOOK, dir_fd=folder.fd)
    except OSError as exc:
        if exc.errno == errno.ENOENT:
            return False
        raise
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def headless_sign(asked: str) -> str:
    """The file that says that nobody's session is to take a request of the run."""
    return f"{asked}.headless"


def claim(folder: Folder, asked: str) -> FileIO:
    """Claim a step until the file is closed.

    Raises:
        LockBusy: somebody else does it.
    """
    return lock_in(folder, _name(asked), wait_s=_CLAIM_S)


def _name(asked: str) -> str:
    return f"{asked}.claim"


def do_in_background(place: Place, run: str) -> bool:
    """Start a process that does the long steps of a run; whether it could start."""
    return start_detached(place, "bridge.worker.long_work", run)
