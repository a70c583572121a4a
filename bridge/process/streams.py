"""Read and write the pipes of a child process without blocking."""

from __future__ import annotations

import os
import selectors
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

_CHUNK = 1 << 16
_MAX_STDERR = 1 << 16


class Streams:
    """Writes to the process's stdin, and passes on what it writes to stdout.

    The process may be started without some of the streams. Input that nobody reads any
    more is dropped.

    Args:
        process: the child, unbuffered or not yet read from.
        take: called with each part of its stdout.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], take: Callable[[bytes], None]
    ) -> None:
        self._process = process
        self._take = take
        self._unsent = bytearray()
        self._closes_stdin = False
        self._stderr = bytearray()
        self._selector = selectors.DefaultSelector()
        for stream in self._all():
            os.set_blocking(stream.fileno(), False)
            if stream is not process.stdin:
                self._selector.register(stream, selectors.EVENT_READ)

    @property
    def stdout_is_open(self) -> bool:
        """Whether the process, or a child of it, may still write to its stdout."""
        return self._process.stdout in self._readers()

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to write or to read."""
        return not self._selector.get_map()

    @property
    def stderr(self) -> str:
        """The end of what it wrote to stderr."""
        return self._stderr.decode(errors="replace").strip()

    def send(self, data: bytes, *, is_last: bool = False) -> None:
        """Write to its stdin, now and as it reads; close it after the last data."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - the caller has asked for a pipe
        if not self._unsent:
            self._selector.register(stdin, selectors.EVENT_WRITE)
        self._unsent += data
        self._closes_stdin = is_last
        self._write()

    def move(self, wait_s: float) -> bool:
        """Read and write what is possible within `wait_s`; returns whether any came."""
        came = False
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._process.stdin:
                self._write()
            else:
                came |= self._read(key)
        return came

    def close(self) -> None:
        """Close every stream."""
        self._selector.close()
        for stream in self._all():
            with suppress(BrokenPipeError):
                stream.close()

    def _all(self) -> list[IO[bytes]]:
        process = self._process
        streams = (process.stdin, process.stdout, process.stderr)
        return [stream for stream in streams if stream is not None]

    def _readers(self) -> list[object]:
        return [key.fileobj for key in self._selector.get_map().values()]

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - checked by `send`
        try:
            del self._unsent[: os.write(stdin.fileno(), self._unsent[:_CHUNK])]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent.clear()
        if not self._unsent:
            self._selector.unregister(stdin)
            if self._closes_stdin:
                stdin.close()

    def _read(self, key: selectors.SelectorKey) -> bool:
        try:
            part = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return False
        if not part:
            self._selector.unregister(key.fileobj)
        elif key.fileobj is self._process.stdout:
            self._take(part)
        else:
            self._stderr = (self._stderr + part)[-_MAX_STDERR:]
        return bool(part)
