"""Wake an idle session at a terminal at once: a FIFO to ring, and who waits for it.

    bell/<pid>-<digest>/ring   there if the session may be woken so
    bell/<pid>-<digest>/wake   what it is rung for (bridge/store/wakeups.py)

The client takes 0.6 s to report a changed file, but a hook in the background wakes it
at once by its end. So a process of the hook `ring` waits for each idle session. It runs
under `python -EPS` as long as the session is idle: what it imports is what that costs.

A ring says only "look". With `wake` beside it the session is asked for, and the library
answers as it answers FileChanged. Without it a turn begins, or the session is over, and
the process ends; during a turn nobody waits, since the hooks of the turn look. It also
ends when the client is gone, however that ended: the other end of stdout is closed.

Source: measured on Claude Code 2.1.332: stdout of a hook is a socket whose other end
the client alone has, whatever it starts; `/clear` leaves a hook in the background be.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    Full = Callable[[str, str, str, bytes], None]

RING, SIGNAL = "ring", "wake"
# No end waits for the other, and no link is followed.
_OPEN = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_BYTES = 1 << 16
# For the session's other hook to register it, or for another process to end.
_TRIES, _TRY_MS = 60, 50
# The other hooks of the event that ended the turn may make it go on, and offer.
_SETTLED_MS = 300
# As for any hook; the client itself sets none for one that waits.
_LIMIT_S = 25


def listener(folder_fd: int) -> int | None:
    """The FIFO in a folder, open to be rung; None if nobody waits there."""
    return _opened(RING, os.O_WRONLY, folder_fd)


def ring(folder_fd: int) -> None:
    """Ring, if somebody waits there."""
    fd = listener(folder_fd)
    if fd is not None:
        try:
            os.write(fd, b"\n")
        except OSError:
            pass  # full, or nobody waits any longer
        finally:
            os.close(fd)


def _opened(path: str, how: int, folder_fd: int | None = None) -> int | None:
    """A FIFO of this user, and nothing else that may lie in its place."""
    try:
        fd = os.open(path, how | _OPEN, dir_fd=folder_fd)
    except OSError:
        return None
    facts = os.fstat(fd)
    if stat.S_ISFIFO(facts.st_mode) and facts.st_uid == os.geteuid():
        return fd
    os.close(fd)
    return None


def main(full: Full, event: str, state: str, kind: str = "", *_: str) -> NoReturn:
    """Wait, and end as the hook is to end; `full` has the library answer an event."""
    _alarm(0)
    while os.read(0, _MAX_BYTES):
        pass
    waiting = _Waiting(state, kind)
    ended = waiting.wait(full, event) if waiting.begin() else 0
    os._exit(ended & 0xFF)


class _Waiting:
    """One process that waits, in the state that the pin of its session leads to."""

    def __init__(self, state: str, kind: str) -> None:
        import select

        self._state, self._kind = state, kind
        self._pin = os.path.dirname(state)
        self._session, _, self._pid = os.path.basename(self._pin).rpartition(".")
        self._folder, self._ring = "", -1
        self._shell = os.getppid()
        self._readable = select.POLLIN
        self._poll = select.poll()
        # Reports only that the other end is closed.
        self._poll.register(1, 0)

    def begin(self) -> bool:
        """Become the one process that waits for the session; False if it may not."""
        mode = os.fstat(1).st_mode
        if not (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)):
            return False
        for _ in range(_TRIES):
            decided = self._try()
            if decided is not None:
                return decided and not self._poll.poll(_SETTLED_MS)
            if self._poll.poll(_TRY_MS):
                break
        return False

    def _try(self) -> bool | None:
        """Whether this process is the one to wait; None if that is not decided yet."""
        import fcntl

        kinds = [name for name in _names(self._pin) if name.startswith("by-")]
        if f"by-{self._kind}" not in kinds:
            return False if kinds else None
        folders = [
            f"{self._state}/bell/{name}"
            for name in _names(f"{self._state}/bell")
            if name.startswith(f"{self._pid}-")
        ]
        rings = [
            folder
            for folder in folders
            if RING in _names(folder) and not os.path.islink(folder)
        ]
        if not rings:
            return False if self._is_known() else None
        # An earlier process with this pid may have left another.
        self._folder = max(rings, key=lambda folder: os.stat(folder).st_mtime)
        fd = _opened(f"{self._folder}/{RING}", os.O_RDWR)
        if fd is None:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        self._ring = fd
        return True

    def _is_known(self) -> bool:
        """Whether the session is on record; after `/clear` it is another one."""
        name = f"{self._state}/sessions/{self._session}"
        return any(map(os.path.lexists, (f"{name}.json", f"{name}.{self._pid}.json")))

    def wait(self, full: Full, event: str) -> int:
        """Wait for rings until one of them is for the model; how the hook is to end."""
        ended = 0
        self._poll.register(self._ring, self._readable)
        while [fd for fd, _ in self._poll.poll()] == [self._ring]:
            os.read(self._ring, _MAX_BYTES)
            if not self._is_asked() or (ended := self._answer(full, event)):
                return ended
        return 0

    def _is_asked(self) -> bool:
        """Whether the session is rung for something, and hears how this ends."""
        is_signalled = os.path.lexists(f"{self._folder}/{SIGNAL}")
        return is_signalled and self._is_known() and os.getppid() == self._shell

    def _answer(self, full: Full, event: str) -> int:
        """Have a child answer: if there is nothing to say, the library goes with it."""
        child = os.fork()
        if not child:
            self._begin_answer(full, event)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _begin_answer(self, full: Full, event: str) -> NoReturn:
        try:
            # What the library leaves to be done later must not seem to wait here.
            os.close(self._ring)
            _alarm(_LIMIT_S)
            words = f'{{"hook_event_name":"{event}","session_id":"{self._session}"}}'
            full(event, self._kind, self._state, words.encode())
        finally:
            os._exit(1)


def _alarm(seconds: int) -> None:
    # Of `signal` itself, which takes memory, nothing else is needed.
    from _signal import alarm  # type: ignore[import-not-found]  # has no stubs

    alarm(seconds)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
