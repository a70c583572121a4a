"""events.jsonl: one line for each transition, for people, `show` and metrics.

The files are the truth, not this log. A line is written after the event, and may be
missing: after a power cut, on a full disk, or if something else has the log's name.
That never turns a completed transition into an error.

A line begins with `{"at":…,"event":"…","requestId":"…"`, in this spelling: to find a
few kinds of events, nobody has to parse the others. Texts of others in it are short,
but for the reasons of what was rejected.

A full log gets the time of that into its name, `events.<ms>-<random>.jsonl`: two
processes that find it full at once lose nothing. Of these the newest are kept, up to
`KEPT_BYTES`. With four lines and some 650 bytes a request, that is room for more than
50,000 requests: about 1,800 a day for a month. `events.1.jsonl` is of an earlier
hostbridge, and the oldest. Other logs of ours are written in the same way.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from bridge import own_files
from bridge.protocol import plain_json
from bridge.protocol.record import json_object
from bridge.store.directory import Folder

NAME = "events.jsonl"
MAX_BYTES = 4 * 1024 * 1024
KEPT_BYTES = 32 * 1024 * 1024
_HEAD, _TAIL = "events.", ".jsonl"

_WRITE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
_FLAGS = _WRITE | os.O_NOFOLLOW | os.O_CLOEXEC
# Far more often than others can fill it, or put a link there, between two looks.
_TRIES = 100


def append_line(
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


def read_logs(folder: Folder, *names: str) -> bytes:
    """What is in these logs; nothing of one that cannot be read."""
    parts = []
    for name in names:
        with suppress(OSError):
            parts.append(folder.read(name) or b"")
    return b"\n".join(parts)


def note(state: Folder, now_ms: int, event: str, request_id: str, **facts: Any) -> None:
    """Add one line if possible. Values of None are left out."""
    known = {key: value for key, value in facts.items() if value is not None}
    line = {"at": now_ms, "event": event, "requestId": request_id, **known}
    older = f"{_HEAD}{now_ms}-{os.urandom(4).hex()}{_TAIL}"
    with suppress(OSError, plain_json.JSONEncodeError):
        data = plain_json.dumps(line) + b"\n"
        if append_line(state, NAME, data, max_bytes=MAX_BYTES, older=older):
            _bound(state)


def contents(state: Folder) -> Iterator[bytes]:
    """What is in each of its files, the newest first."""
    newest = read_logs(state, NAME)
    yield newest
    for name in reversed(_older_files(state)):
        data = read_logs(state, name)
        # It became full, and got another name, after it was read.
        is_again = newest and data.startswith(newest)
        yield data[len(newest) :] if is_again else data


def _older_files(state: Folder) -> list[str]:
    """The names of its full files, the oldest first."""
    found = []
    for name in state.names(_TAIL):
        at, _, _ = name.removeprefix(_HEAD).partition("-")
        if name.startswith(_HEAD) and at.isascii() and at.isdecimal():
            found.append((int(at), f"{name}{_TAIL}"))
    return [name for _, name in sorted(found)]


def _bound(state: Folder) -> None:
    """Remove the oldest files, until the rest is as large as may be kept."""
    left = KEPT_BYTES
    for name in reversed(_older_files(state)):
        facts = state.facts(name)
        left -= facts.st_size if facts else 0
        if left < 0:
            with suppress(OSError):
                state.remove(name)


def remove_older(state: Folder, than_s: float, now_s: float) -> None:
    """Remove the files that have been full for longer than so many seconds."""
    for name in _older_files(state):
        facts = state.facts(name)
        if facts is not None and now_s - facts.st_ctime > than_s:
            with suppress(OSError):
                state.remove(name)


def lines_about(state: Folder, request_id: str) -> list[dict[str, Any]]:
    """The lines that concern a request, oldest first; a broken line is skipped."""
    wanted = request_id.encode()
    files = [[*_lines_with(wanted, data)] for data in contents(state)]
    events = (json_object(line) for lines in reversed(files) for line in lines)
    return [event for event in events if event.get("requestId") == request_id]


def lines(state: Folder) -> Iterator[dict[str, Any]]:
    """All lines, oldest first; a broken line is empty."""
    for data in reversed([*contents(state)]):
        yield from map(json_object, data.splitlines())


def _lines_with(wanted: bytes, data: bytes) -> Iterator[bytes]:
    at = data.find(wanted)
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield data[start:end]
        at = data.find(wanted, end)


def newest_lines(state: Folder, count: int) -> Iterator[dict[str, Any]]:
    """The last `count` lines of each of its two newest files, newest first.

    A broken line is empty.
    """
    for data in islice(contents(state), 2):
        lines = data.rsplit(b"\n", count + 1)
        yield from map(json_object, reversed(lines[-count - 1 : -1]))
