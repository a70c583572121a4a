"""Logs of ours: one line for each event. A full log gets another name."""

import errno
import fcntl
import os
import stat
from contextlib import suppress

from bridge import own_files
from bridge.store.directory import Folder

_WRITE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
_FLAGS = _WRITE | os.O_NOFOLLOW | os.O_CLOEXEC
# Far more often than others can fill it, or put a link there, between two looks.
_TRIES = 100


def append(
    folder: Folder, name: str, line: bytes, *, max_bytes: int, older: str
) -> bool:
    """Add one line in one write; a full log becomes `older`. Whether one did.

    A log that is not a plain file with one name is moved aside first: a line appended
    through a hard link would end up in somebody else's file. Of several processes that
    find it full at once one moves it, and none loses its line.
    """
    was_full = False
    for _ in range(_TRIES):
        try:
            file = own_files.open_file(name, _FLAGS, dir_fd=folder.fd)
        except OSError as exc:
            if exc.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise
            _move_aside(folder, name)
            continue
        with file:
            fd = file.fileno()
            facts = os.fstat(fd)
            if not facts.st_nlink:
                # Moved and removed meanwhile.
                continue
            if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
                _move_aside(folder, name)
            elif facts.st_size <= max_bytes or was_full or not _is_mine(fd):
                # If others have filled the next log meanwhile, one more line fits in:
                # it would be moved over the one that has just become `older`.
                os.write(fd, line)
                return was_full
            elif _is_still(folder, name, facts):
                folder.move(name, folder, older)
                was_full = True
    return False


def _move_aside(folder: Folder, name: str) -> None:
    with suppress(FileNotFoundError):
        folder.move(name, folder, f"{name}.aside-{os.urandom(4).hex()}")


def _is_mine(fd: int) -> bool:
    """Whether it is for us to move a full log; if not, one more line fits in."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(folder: Folder, name: str, facts: os.stat_result) -> bool:
    """Whether the log that was found full still has the name."""
    found = folder.facts(name)
    return found is not None and os.path.samestat(found, facts)


def read(folder: Folder, *names: str) -> bytes:
    """What is in these logs; nothing of one that cannot be read."""
    parts = []
    for name in names:
        with suppress(OSError):
            parts.append(folder.read(name) or b"")
    return b"\n".join(parts)
