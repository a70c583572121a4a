"""Open what lies beneath a folder, one name after the other, following no link.

The caller has resolved the path and found no links: a link found now was put there
since, to lead elsewhere.
"""

import os
from collections.abc import Sequence
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a pipe must not make us wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_beneath(root: Path, parts: Sequence[str], *, is_folder: bool = False) -> int:
    """A descriptor, to be read and closed, of what `parts` name beneath `root`.

    `root` is a real path, `parts` are names without `..`; none of them mean the root
    itself.

    Raises:
        OSError: nothing is there, or a link (ELOOP, ENOTDIR), or no folder where one
            was to be.
    """
    kinds = [_FOLDER] * len(parts) + [_FOLDER if is_folder or not parts else _FILE]
    fd = os.open(root, kinds[0])
    for name, kind in zip(parts, kinds[1:], strict=True):
        above = fd
        try:
            fd = os.open(name, kind, dir_fd=above)
        finally:
            os.close(above)
    return fd
