"""Who is behind a process: its ancestors, and those that hold its terminal.

A process that was forked twice has lost its parents, and a process on a new terminal is
controlled by whoever made that terminal. The environments they were started with stay
readable. What has neither parents nor a terminal is known by its age alone.

Source: proc(5), "/proc/pid/stat", fields 4 (ppid), 6 (session), 7 (tty_nr) and 22
(starttime);
"/proc/pid/fdinfo", tty-index; "/proc/pid/environ", as the program was started;
prctl(2), "PR_SET_CHILD_SUBREAPER".
"""

import os
import time
from collections.abc import Collection
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from bridge.store.host_process import ancestors_of, name_of, stat_fields

_PROC = Path("/proc")
# Major numbers of pseudo-terminals; each has 256 minors.
_FIRST_PTS, _LAST_PTS = 136, 143


def behind(pid: int) -> list[int]:
    """Every process that could speak for `pid`, as far as they can be seen."""
    found = ancestors_of(pid)
    for holder in _holders(pid):
        found += [holder, *ancestors_of(holder)]
    return list(dict.fromkeys(found))


def has_terminal_from_below(pid: int, clients: Collection[int]) -> bool:
    """Whether the terminal of `pid` was made by something that one of `clients` began.

    By something younger than the client, in its control group, that has left its
    parents, or by a child of that. So does a tmux that a user begins then; but a model
    can begin one, too, and type into it, and nothing tells the two apart.
    """
    holders = _holders(pid) if clients else []
    adopter = _adopter() if holders else 0
    return any(
        (_is_orphan(holder, adopter) and _may_be_from_below(holder, clients))
        or _has_left(holder, clients, {1, adopter})
        for holder in holders
    )


def is_left_behind(pid: int, clients: Collection[int]) -> bool:
    """Whether `pid` has no terminal, and something that a client began has left it.

    So it seems if it, or an ancestor, was adopted, is younger than one of `clients` and
    is in its control group. A scheduler is older, a service is in another group. The
    first process of a container has children of its own, which are in its session.
    """
    fields = stat_fields(pid) if clients else []
    if not fields or fields[4] != "0":
        return False
    return _has_left(pid, clients, {1, _adopter()})


def _has_left(pid: int, clients: Collection[int], adopters: Collection[int]) -> bool:
    """Whether `pid` or an ancestor was adopted, and a client may have begun it."""
    return any(
        (above in adopters or name_of(above) == "systemd")
        and stat_fields(child)[3:4] != stat_fields(above)[3:4]
        and _may_be_from_below(child, clients)
        for child, above in pairwise([pid, *ancestors_of(pid)])
    )


def _may_be_from_below(pid: int, clients: Collection[int]) -> bool:
    """Whether it began after a client, and beside it."""
    return any(
        _started(pid) >= _started(client) > 0 and _group(pid) == _group(client)
        for client in clients
    )


def _holders(pid: int) -> list[int]:
    """The processes that hold the other end of a process's terminal."""
    fields = stat_fields(pid)
    device = int(fields[4]) if fields else 0
    major, minor = os.major(device), os.minor(device)
    if not _FIRST_PTS <= major <= _LAST_PTS:
        return []
    index = str((major - _FIRST_PTS) * 256 + minor)
    return [
        int(entry.name)
        for entry in _PROC.iterdir()
        if entry.name.isdigit() and _holds(entry, index)
    ]


def _holds(process: Path, index: str) -> bool:
    with suppress(OSError):
        for link in (process / "fd").iterdir():
            with suppress(OSError):
                if not os.readlink(link).endswith("ptmx"):
                    continue
                lines = (process / "fdinfo" / link.name).read_text().splitlines()
                if any(line.split() == ["tty-index:", index] for line in lines):
                    return True
    return False


def _is_orphan(pid: int, adopter: int) -> bool:
    """Whether it was left to init, to the user's own systemd, or to `adopter`."""
    above = ancestors_of(pid)
    return not above or above[0] in (1, adopter) or name_of(above[0]) == "systemd"


def _adopter() -> int:
    """Who becomes the parent of our descendants once theirs is gone; tried out.

    Init, or the nearest process above us that has asked for them.
    """
    answer, mine = os.pipe()
    child = os.fork()
    if not child:
        try:
            here = os.getpid()
            if not os.fork():
                while os.getppid() == here:
                    time.sleep(0.001)
                os.write(mine, b"%d" % os.getppid())
        finally:
            os._exit(0)
    os.close(mine)
    os.waitpid(child, 0)
    with open(answer, "rb") as found:
        return int(found.read() or 1)


def _started(pid: int) -> int:
    fields = stat_fields(pid)
    return int(fields[19]) if fields else 0


def _group(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "cgroup").read_bytes()
    except OSError:
        return b""
