"""Files that stay with the process that opened them: a child made by fork closes them.

A lock holds, and a program runs, for as long as a certain file is open. In a child that
lives on, a copy of that file would outlive its holder. So each of them is opened here:
there is no moment at which a fork could copy an unknown one. A child that continues in
the middle of what its parent began under a lock gets an error that says so.

Source: flock(2), "Locks created by flock() are associated with an open file
description"; fork(2), "open file descriptions".
"""

import os
from _thread import RLock, get_ident
from functools import partial
from io import FileIO
from weakref import WeakKeyDictionary, WeakSet

from bridge.errors import StateUnavailable

FORKED = (
    "this process was forked in the middle of a change that its parent continues: "
    "it can use hostbridge only after it has left the block, or the signal handler, in "
    "which it was forked"
)
# A fork waits for it. The thread that has it may fork itself, in a signal handler.
_opening = RLock()
# With the thread that changes something while the file is open, if any does.
_files: WeakKeyDictionary[FileIO, int | None] = WeakKeyDictionary()
# Those that were open when such a thread forked this process. One is gone from here as
# soon as the block is left that has it.
_amid: WeakSet[FileIO] = WeakSet()
# Whether there ever was one: each use of a folder asks, thousands in a sweep.
_was_amid = False


def open_file(
    name: str, flags: int, mode: int = 0o600, *, dir_fd: int | None = None
) -> FileIO:
    """Open a file for a change of this thread's, as `os.open` does."""
    file = FileIO.__new__(FileIO)
    opens = partial(os.open, mode=mode, dir_fd=dir_fd)
    with _opening:
        _files[file] = get_ident()
        # One call in C: no signal handler comes between open(2) and the object that
        # closes the file.
        next(
            map(partial(FileIO.__init__, file, mode="r+"), map(opens, [name], [flags]))
        )
    return file


def open_pipe() -> tuple[FileIO, FileIO]:
    """The two ends of a pipe, as of `os.pipe`."""
    with _opening:
        read, write = os.pipe()
        ends = FileIO(read, "r"), FileIO(write, "w")
        _files.update(dict.fromkeys(ends))
    return ends


def check() -> None:
    """Refuse to go on with what the parent began before the fork.

    Raises:
        StateUnavailable: the calling thread had such a file open when it was forked,
            and has not left the block since.
    """
    if _was_amid and any(_is_mine(file) for file in _amid):
        raise StateUnavailable(FORKED)


def _is_mine(file: FileIO) -> bool:
    return _files.get(file) == get_ident()


def _known() -> list[FileIO]:
    # A copy of the keys is made in one step, whatever other threads do.
    files = [ref() for ref in _files.keyrefs()]
    return [file for file in files if file is not None]


def _close_in_child() -> None:
    global _was_amid  # noqa: PLW0603 - one process has one
    for file in _known():
        if not file.closed and _is_mine(file):
            _amid.add(file)
            _was_amid = True
        file.close()
    _opening.release()


os.register_at_fork(
    before=_opening.acquire,
    after_in_parent=_opening.release,
    after_in_child=_close_in_child,
)
