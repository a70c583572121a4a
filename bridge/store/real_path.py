"""Where a path leads for a program that has yet to start."""

from __future__ import annotations

import os

# Their links say something else to each process: `/proc/self/cwd` is its own folder.
_OF_A_PROCESS = ("/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr")
_MOST_LINKS = 40


def real_path(path: str) -> str:
    """An absolute path with its links followed, as `os.path.realpath`.

    What leads through the files of a process stays as it is, and so lies nowhere but
    there: for the program it may lead anywhere.
    """
    waiting, real, links = path.split("/")[::-1], "/", 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            real = os.path.dirname(real)
        if part in ("", ".", ".."):
            continue
        here = os.path.join(real, part)
        if here in _OF_A_PROCESS:
            return os.path.normpath(here)
        try:
            target = os.readlink(here)
        except OSError:
            real = here
            continue
        links += 1
        if links > _MOST_LINKS:
            return here
        real = "/" if target.startswith("/") else real
        waiting += target.split("/")[::-1]
    return real
