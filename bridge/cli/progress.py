"""How far a request has come, on the terminal's stderr while one waits for it.

Nothing at all where stderr is no terminal. rich is loaded beside the waiting, and only
when the answer does not come at once.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from bridge.protocol.status import Stage

if TYPE_CHECKING:
    from types import TracebackType

    from bridge.protocol.answering import Progress as Work

_AT_ONCE_S = 0.4
_REFRESH_S = 0.5


class Progress:
    """A line with the stage and the seconds; call it with each new stage."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._stage = Stage.WAITING
        self._work = ""
        self._began_s = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, stage: Stage) -> None:
        """Take note of a stage."""
        self._stage = stage

    def go_on(self, work: Work) -> None:
        """Take note of how far the work has come that is done right here."""
        told = (
            f"turn {work.turn}" if work.turn is not None else "",
            work.tool or "",
            f"{work.tokens_per_s:.0f} tokens/s" if work.tokens_per_s else "",
        )
        self._work = "".join(f", {words}" for words in told if words)

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def _show(self) -> None:
        if self._over.wait(_AT_ONCE_S):
            return
        from rich.console import Console

        with Console(stderr=True, highlight=False).status(self._words()) as line:
            while not self._over.wait(_REFRESH_S):
                line.update(self._words())

    def _words(self) -> str:
        elapsed_s = time.monotonic() - self._began_s
        return f"{self._agent}: {self._stage}{self._work} ({elapsed_s:.0f} s)"
