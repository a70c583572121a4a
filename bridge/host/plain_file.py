"""Open a file of the user's or the client's, and nothing but a plain file."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(file: str | Path) -> BinaryIO:
    """Open a plain file for reading; a link is followed.

    Raises:
        OSError: it is missing, cannot be read, or is not a plain file.
    """
    # Opening a pipe would wait for its other end.
    fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return open(fd, "rb")
    os.close(fd)
    raise OSError(errno.EINVAL, "not a plain file", str(file))
