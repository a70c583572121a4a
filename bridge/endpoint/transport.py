"""An HTTP answer that ends: a server may send as long as it likes, we keep no more.

The client reads a line, and the words of an error, whole: without a bound a broken
server takes all the memory there is before the deadline.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from bridge.runner.engine import EngineFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

# A chunk of a few characters has some 300 bytes around it.
MAX_BYTES = 64 * 1024 * 1024


def bound(response: Any) -> None:
    """Have the reading of a response end at `MAX_BYTES`, with `EngineFailed`.

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
                    raise EngineFailed(
                        "AGENT_004", f"the server sent over {MAX_BYTES:,} bytes"
                    )
                yield part

        def close(self) -> None:
            stream.close()

    response.stream = Bounded()
