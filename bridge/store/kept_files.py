"""Files that were read and are kept open, so that none is read twice in an operation.

A file held open keeps its inode to itself: if the name still leads to it, with the same
size and times, its bytes are what was read.
"""

import os

# A long one would be kept in memory for nothing.
_MAX_BYTES = 1 << 20


class KeptFiles:
    """Up to `limit` files of one folder, by name."""

    def __init__(self) -> None:
        self.limit = 0
        self._kept: dict[str, tuple[int, os.stat_result, bytes]] = {}

    def add(self, name: str, fd: int, facts: os.stat_result, data: bytes) -> None:
        """Keep what was read from a descriptor, which stays the caller's."""
        if len(self._kept) < self.limit and len(data) <= _MAX_BYTES:
            self._kept[name] = (os.dup(fd), facts, data)

    def read_again(self, name: str, dir_fd: int) -> bytes | None:
        """What was read before, if it is the same file still; else None."""
        if name not in self._kept:
            return None
        fd, before, data = self._kept.pop(name)
        if _is_same(name, dir_fd, before):
            self._kept[name] = fd, before, data
            return data
        os.close(fd)
        return None

    def close(self) -> None:
        """Let go of all."""
        for fd, _, _ in self._kept.values():
            os.close(fd)
        self._kept.clear()


def _is_same(name: str, dir_fd: int, before: os.stat_result) -> bool:
    """Whether nothing has happened to a file."""
    try:
        now = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    facts = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    return all(getattr(now, fact) == getattr(before, fact) for fact in facts)
