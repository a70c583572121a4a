"""An HTTP answer that ends: a server may send as long as it likes, we keep no more.

The client reads a line, and the words of an error, whole: without a bound a broken
server takes all the memory there is before the deadline. And its connections can be
cut: to close one from another thread wakes no thread that reads from it, and the server
is not told.
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
    """Have the reading of a response end at `MAX_BYTES`, with `ModelFailed`.

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
        """Hear of the connection that a request gets; a request hook."""
        request.extensions["trace"] = self._heard

    def cut(self) -> None:
        """Hang up, in the middle of whatever is said; for good."""
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


# What may lie above the first: a proxy's, and encryption.
_MORE = ("connection.start_tls.complete", "connection.connect_unix_socket.complete")


def _hang_up(line: Any) -> None:
    plug = line.get_extra_info("socket")
    if plug is not None:
        with suppress(OSError):
            # Not that of an encrypted one: it would say goodbye first, and may wait.
            socket.socket.shutdown(plug, socket.SHUT_RDWR)
