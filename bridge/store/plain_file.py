"""Open a file that may be a stranger's, and nothing but a plain file.

Opening a pipe would wait for its other end, and a device may do anything at all. A link
is followed only where the caller says so. Beneath a folder, names are opened one after
the other: the caller has resolved the path and found no links, so a link found now was
put there since, to lead elsewhere.
"""

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

# More than any settings have; the file may only look like one.
_MOST = 64_000_000
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLLOW = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
FILE = _FOLLOW | os.O_NOFOLLOW


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


def read_start(file: str | bytes | Path, most: int) -> bytes:
    """The first `most` bytes of a plain file; empty for a link or anything else."""
    with suppress(OSError), open_plain(file, links=False) as opened:
        return opened.read(most)
    return b""


def open_plain(file: str | bytes | Path, *, links: bool = True) -> BinaryIO:
    """Open a plain file for reading; a link is followed only with `links`.

    Raises:
        OSError: it is missing, cannot be read, or is not a plain file.
    """
    fd = os.open(file, _FOLLOW if links else FILE)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return open(fd, "rb")
    os.close(fd)
    raise OSError(errno.EINVAL, "not a plain file", os.fsdecode(file))


def open_beneath(root: Path, parts: Sequence[str], *, is_folder: bool = False) -> int:
    """A descriptor, to be read and closed, of what `parts` name beneath `root`.

    `root` is a real path, `parts` are names without `..`; none of them mean the root
    itself.

    Raises:
        OSError: nothing is there, or a link (ELOOP, ENOTDIR), or no folder where one
            was to be.
    """
    kinds = [FOLDER] * len(parts) + [FOLDER if is_folder or not parts else FILE]
    fd = os.open(root, kinds[0])
    for name, kind in zip(parts, kinds[1:], strict=True):
        above = fd
        try:
            fd = os.open(name, kind, dir_fd=above)
        finally:
            os.close(above)
    return fd
