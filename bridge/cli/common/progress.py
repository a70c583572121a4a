"""A line on the terminal that shows how far a request is, while one waits for it.

Where stderr is no terminal only what it waits for is told, once. rich is imported
in a thread, and only if the answer takes a moment.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from bridge.cli.common.output import complain
from bridge.protocol.status import Stage

if TYPE_CHECKING:
    from rich.status import Status

    from bridge.protocol.outcome import Progress as Work

_AT_ONCE_S = 0.4
_REFRESH_S = 0.5


class ProgressLine:
    """A line with the stage and the seconds; call it with each new stage.

    `follow` takes the progress of work in this process: turn, tool, tokens per second;
    and what a request waits for. A note in it is printed at the
    end, on a terminal or not.
    """

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._stage = Stage.WAITING
        self._work: Work | None = None
        self._note: str | None = None
        self._told = ""
        self._began_s = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._drawing = threading.Lock()
        self._line: Status | None = None

    def __call__(self, stage: Stage) -> None:
        """Note the stage."""
        self._stage = stage
        if stage is not Stage.RUNNING:
            self._work = None

    def follow(self, work: Work) -> None:
        """Note how far the work in this process is; from any thread."""
        self._stage = Stage.PAUSED if work.waits else Stage.RUNNING
        self._work = work
        self._note = work.note or self._note
        if work.waits and work.waits != self._told and not sys.stderr.isatty():
            complain(f"{self._agent}: {work.waits}")
            self._told = work.waits

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()
        if self._note:
            complain(self._note)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the line off the terminal for the block: somebody is asked there."""
        with self._drawing:
            if self._line:
                self._line.stop()
            yield

    def _show(self) -> None:
        if self._over.wait(_AT_ONCE_S):
            return
        from rich.console import Console

        line = Console(stderr=True, highlight=False).status(self._words())
        try:
            while not self._over.is_set():
                with self._drawing:
                    self._line = line
                    line.start()
                    line.update(self._words())
                self._over.wait(_REFRESH_S)
        finally:
            line.stop()

    def _words(self) -> str:
        elapsed_s = time.monotonic() - self._began_s
        work = self._work
        stands = work.waits if work and work.waits else self._stage.words
        doing = f", {work_words(work)}" if work and not work.waits else ""
        return f"{self._agent}: {stands}{doing} ({elapsed_s:.0f} s)"


def work_words(work: Work) -> str:
    """Where the work stands: `turn 2 of 20, read_file, 31 tokens/s`."""
    turn = f"turn {work.turn}" if work.turn is not None else ""
    parts = (
        f"{turn} of {work.max_turns}" if turn and work.max_turns else turn,
        work.tool or (f"{work.tokens} tokens" if work.tokens else work.doing),
        f"{work.tokens_per_s:.0f} tokens/s" if work.tokens_per_s else "",
    )
    return ", ".join(words for words in parts if words)
