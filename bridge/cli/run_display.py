"""A run on the terminal while it goes on: what runs, what waits, for how long.

Shown on stderr, and only on a terminal. A checkpoint is asked here, too: whoever
answers first, here or by `hostbridge approve`, has answered.
"""

from __future__ import annotations

import os
import select
import sys
import termios
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from bridge.agents.trust import InsideSession, refuse_unless_by_hand
from bridge.cli.output import complain, indented, visible
from bridge.cli.run_text import run_lines
from bridge.cli.screen import columns_of, printed, screen_of
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.rehearsal import is_refusal
from bridge.engine.view import question, view
from bridge.errors import InvalidRequest
from bridge.host.session_above import open_clients

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge
    from bridge.cli.screen import Line
    from bridge.engine.run import Run, Said
    from bridge.engine.view import RunView

_BAR = 24
_MOST_TYPED = 4096


class Display:
    """Shows a run; call it with each change. `run` is its id, once it has begun."""

    def __init__(self, bridge: Bridge) -> None:
        self.run = ""
        self._bridge = bridge
        self._live: Any = None
        self._asked: tuple[str, str, str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def __call__(self, seen: RunView) -> None:
        """Show how far it is, and take the answer to a checkpoint."""
        self.run = seen.run["run"]
        waiting = next(seen.visits(), None)
        if waiting is not None and _is_foreground() and self._may_answer():
            self._ask(seen, waiting)
            return
        self._asked = None
        self._draw(seen)

    def _stop(self) -> None:
        if self._live:
            self._live.stop()
        # Started again it would go up, over what was asked and answered meanwhile.
        self._live = None

    def _draw(self, seen: RunView) -> None:
        from rich.live import Live
        from rich.text import Text

        if self._live is None:
            from rich.console import Console

            self._live = Live(
                console=Console(stderr=True),
                auto_refresh=False,
                vertical_overflow="ellipsis",
            )
            self._live.start()
        width = columns_of(sys.stderr.fileno())
        lines: list[Line] = [
            *run_lines(self._bridge, seen, width, is_live=True),
            bar_of(seen),
            *(f"waits for you: {way}" for way in _ways(seen)),
        ]
        text = printed(lines, colour=screen_of(sys.stderr).colour)
        self._live.update(Text.from_ansi(text), refresh=True)

    def _may_answer(self) -> bool:
        clients = open_clients(self._bridge.settings, self._bridge.store)
        try:
            refuse_unless_by_hand(self._bridge.settings, clients, "hostbridge run")
        except InsideSession:
            return False
        return True

    def _ask(self, seen: RunView, waiting: tuple[str, str, str]) -> None:
        """Ask a checkpoint's question once; then look whether a line was typed.

        Only words that were typed after the question answer it: no empty line, nothing
        that was typed before, and no end of the input.
        """
        run_id, node, asked = waiting
        stdin = sys.stdin.fileno()
        if self._asked != waiting:
            self._asked = waiting
            self._draw(seen)
            self._stop()
            said = visible(question(self._bridge.store, run_id, node), kept="\n")
            sys.stderr.write(f"\n{indented(said)}\n")
            termios.tcflush(stdin, termios.TCIFLUSH)
            sys.stderr.write("Your answer (yes, no, or what you want to say): ")
            sys.stderr.flush()
        if select.select([stdin], [], [], 0)[0]:
            # A terminal gives one line at a time.
            line = os.read(stdin, _MOST_TYPED).decode("utf-8", "replace").strip()
            self._asked = None
            if not line:
                return
            try:
                _answer(self._bridge, run_id, node, line, by="run", asked=asked)
            except InvalidRequest as exc:
                complain(exc.what)


def _is_foreground() -> bool:
    """Whether somebody can answer here; the shell reads what is typed to its jobs."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, AttributeError):
        # No terminal, or no stdin at all.
        return False


def answer_checkpoint(
    bridge: Bridge, run_id: str, node: str | None, text: str, *, by: str
) -> None:
    """Answer a checkpoint of a run, or of a flow that it has called.

    Raises:
        InvalidRequest: none waits for an answer, or several do and none is named.
    """
    seen = view(bridge.store, run_id)
    waiting = [*seen.checkpoints()]
    if node is None and len(waiting) == 1:
        run_id, node = waiting[0]
    elif node is None and waiting:
        named = ", ".join(f"{run}/{each}" for run, each in waiting)
        raise InvalidRequest(f"run {run_id}: which checkpoint? {named}")
    elif node is None:
        _refuse_late(seen)
    _answer(bridge, run_id, node, text, by=by)


def _refuse_late(seen: RunView) -> None:
    """Say so if the last checkpoint of a run, or of what it called, was answered."""
    answered = [run for run in seen.runs() if run["said"]]
    if answered:
        by_hand.refuse_late(max(answered, key=_last_said_ms))


def _last_said_ms(run: Run) -> int:
    return max(said["at"] for said in run["said"].values())


def _answer(
    bridge: Bridge,
    run_id: str,
    node: str | None,
    text: str,
    *,
    by: str,
    asked: str | None = None,
) -> None:
    said: Said = {
        "text": text,
        "agreed": not is_refusal(text),
        "at": bridge.store.now_ms(),
        "by": by,
    }
    act = partial(by_hand.say, node=node, said=said, asked=asked)
    advance(bridge.store, bridge.settings, run_id, act)


def _ways(seen: RunView) -> list[str]:
    """How each checkpoint that waits is answered from elsewhere."""
    return [f"hostbridge approve {run}" for run, _ in seen.checkpoints()]


def bar_of(seen: RunView) -> Line:
    """How much of a run has ended."""
    ended, steps = seen.ended()
    full = _BAR * ended // max(1, steps)
    return "━" * full + "╌" * (_BAR - full) + f"  {ended} of {steps} steps"
