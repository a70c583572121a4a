"""Logs of ours: one line for each event. A full log gets another name."""

import errno
import os
import stat
from contextlib import suppress

from bridge.store.directory import Folder

_WRITE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
_FLAGS = _WRITE | os.O_NOFOLLOW | os.O_CLOEXEC


def append(
    folder: Folder, name: str, line: bytes, *, max_bytes: int, older: str
) -> bool:
    """Add one line in one write; a full log becomes `older`. Whether one did.

    A log that is not a plain file with one name is moved aside first: a line appended
    through a hard link would end up in somebody else's file.
    """
    other_name = ""
    for _ in range(2):
        was_full = other_name == older
        other_name = f"{name}.aside-{os.urandom(4).hex()}"
        try:
            fd = os.open(name, _FLAGS, 0o600, dir_fd=folder.fd)
        except OSError as exc:
            if exc.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise
        else:
            try:
                facts = os.fstat(fd)
                is_ours = stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1
                if is_ours and facts.st_size <= max_bytes:
                    os.write(fd, line)
                    return was_full
            finally:
                os.close(fd)
            other_name = older if is_ours else other_name
        folder.move(name, folder, other_name)
    return False


def read(folder: Folder, *names: str) -> bytes:
    """What is in these logs; nothing of one that cannot be read."""
    parts = []
    for name in names:
        with suppress(OSError):
            parts.append(folder.read(name) or b"")
    return b"\n".join(parts)
