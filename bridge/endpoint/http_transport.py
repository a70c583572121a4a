"""Limit the size of HTTP answers, and cut connections from another thread.

The client reads a line, and the text of an error, as a whole: without a limit a broken
server could take all memory before the deadline. What is packed is not even unpacked:
3 MB can become terabytes, a megabyte at a time. And closing a connection from another
thread neither wakes the thread that reads from it nor tells the server.
"""

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from bridge.agent_loop.chat_model import ModelFailed

# A chunk of a few characters has some 300 bytes around it.
MAX_BYTES = 64 * 1024 * 1024
# With this, no server has a reason to pack its answer.
UNPACKED = {"Accept-Encoding": "identity"}


def refuse_packed(response: Any) -> None:
    """Refuse an answer that is packed, before any of it is read; a response hook.

    Raises:
        ModelFailed: the server was asked not to.
    """
    packed = response.headers.get("Content-Encoding", "")
    if packed.lower() not in {"", "identity"}:
        message = f"the server packed its answer ({packed}), though asked not to"
        raise ModelFailed("agent_error", message)


def limit_size(response: Any) -> None:
    """Make reading a response fail with `ModelFailed` after `MAX_BYTES`.

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
                        "too_long", f"the server sent over {MAX_BYTES:,} bytes"
                    )
                yield part

        def close(self) -> None:
            stream.close()

    response.stream = Bounded()


class Connections:
    """The connections that a client has opened.

    Source: httpx, "Extensions", `trace`; httpcore, `get_extra_info("socket")`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[Any] = []
        self._is_cut = False

    def watch(self, request: Any) -> None:
        """Learn the connection of a request; a request hook of the client."""
        request.extensions["trace"] = self._on_event

    def cut(self) -> None:
        """Close all connections at once, and every later one.

        Whoever returns from here may close the client: by then every connection is
        shut down, whichever thread did it.
        """
        with self._lock:
            self._is_cut = True
            while self._open:
                _shut_down(self._open.pop())

    def _on_event(self, event: str, facts: Any) -> None:
        connection = facts.get("return_value") if event in _OPENED else None
        if connection is None:
            return
        with self._lock:
            if not self._is_cut:
                self._open.append(connection)
                return
        _shut_down(connection)


# Over TCP, over TLS above it, and without TCP.
_OPENED = (
    "connection.connect_tcp.complete",
    "connection.start_tls.complete",
    "connection.connect_unix_socket.complete",
)


def _shut_down(connection: Any) -> None:
    plain = connection.get_extra_info("socket")
    if plain is not None:
        with suppress(OSError):
            # An encrypted socket's own method may wait for the peer.
            socket.socket.shutdown(plain, socket.SHUT_RDWR)
