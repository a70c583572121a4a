"""Open a file of the user's or the client's, and nothing but a plain file."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

# More than any settings have; the file may be a stranger's, and only look like one.
_MOST = 64_000_000


def read_plain(file: str | Path) -> bytes:
    """The bytes of a plain file.

    Raises:
        OSError: as `open_plain`, or it is too large for a file of settings.
    """
    with open_plain(file) as opened:
        data = opened.read(_MOST + 1)
    if len(data) > _MOST:
        raise OSError(errno.EFBIG, f"larger than {_MOST:,} bytes", str(file))
    return data


def open_plain(file: str | Path, *, links: bool = True) -> BinaryIO:
    """Open a plain file for reading; a link is followed only with `links`.

    Raises:
        OSError: it is missing, cannot be read, or is not a plain file.
    """
    # Opening a pipe would wait for its other end.
    how = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(file, how if links else how | os.O_NOFOLLOW)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return open(fd, "rb")
    os.close(fd)
    raise OSError(errno.EINVAL, "not a plain file", str(file))
