"""Limit the size of HTTP answers, and cut connections from another thread.

The client reads a line, and the text of an error, as a whole: without a limit a broken
server takes all memory before the deadline. And closing a connection from another
thread neither wakes the thread that reads from it nor tells the server.
"""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.chat_model import ModelFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

# A chunk of a few characters has some 300 bytes around it.
MAX_BYTES = 64 * 1024 * 1024


def bound(response: Any) -> None:
    """Make reading a response fail after `MAX_BYTES`, with `ModelFailed`.

    A response hook of the client's HTTP library, whichever that is: `openai` has
    changed it before.
    """
    library = sys.modules[type(response).__module__.partition(".")[0]]
    stream = response.stream

    class Bounded(library.SyncByteStream):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[bytes]:
            left = MAX_BYTES
            for part in stream:
                left -= len(part)
                if left < 0:
                    raise ModelFailed(
                        "AGENT_004", f"the server sent over {MAX_BYTES:,} bytes"
                    )
                yield part

        def close(self) -> None:
            stream.close()

    response.stream = Bounded()


class Lines:
    """The connections that a client has opened.

    Source: httpx, "Extensions", `trace`; httpcore, `get_extra_info("socket")`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[Any] = []
        self._is_cut = False

    def note(self, request: Any) -> None:
        """Note the connection of a request; a request hook of the client."""
        request.extensions["trace"] = self._heard

    def cut(self) -> None:
        """Close all connections at once, and every later one."""
        with self._lock:
            self._is_cut = True
            lines, self._open = self._open, []
        for line in lines:
            _hang_up(line)

    def _heard(self, event: str, facts: Any) -> None:
        is_open = event in ("connection.connect_tcp.complete", *_MORE)
        line = facts.get("return_value") if is_open else None
        if line is None:
            return
        with self._lock:
            if not self._is_cut:
                self._open.append(line)
                return
        _hang_up(line)


# Layers above TCP, and connections without it.
_MORE = ("connection.start_tls.complete", "connection.connect_unix_socket.complete")


def _hang_up(line: Any) -> None:
    plug = line.get_extra_info("socket")
    if plug is not None:
        with suppress(OSError):
            # Not by an encrypted socket's own method, which may wait for the peer.
            socket.socket.shutdown(plug, socket.SHUT_RDWR)
