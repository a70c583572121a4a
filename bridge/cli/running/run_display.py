"""A run on the terminal while it goes on: what runs, what waits, for how long.

Shown on stderr, and only on a terminal. A checkpoint is asked here, too: whoever
answers first, here or by `hostbridge reply`, has answered.
"""

from __future__ import annotations

import select
import sys
import termios
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.agents.trust import InsideSession
from bridge.bound.session_above import only_by_hand
from bridge.cli.common.output import complain, indented, visible
from bridge.cli.running.run_text import how_to_say, run_lines
from bridge.cli.screen.screen import columns_of, printed, screen_of
from bridge.cli.screen.terminal import is_foreground, typed_on
from bridge.config import language
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.view import question
from bridge.errors import InvalidRequest

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge
    from bridge.cli.screen.screen import Line
    from bridge.engine.view import RunView

_BAR = 24


class Display(AbstractContextManager["Display"]):
    """Shows a run; call it with each change. `run` is its id, once it has begun."""

    def __init__(self, bridge: Bridge) -> None:
        self.run = ""
        self._bridge = bridge
        self._live: Any = None
        self._asked: tuple[str, str, str] | None = None

    def __exit__(self, *_: object) -> None:
        self._stop()

    def __call__(self, seen: RunView) -> None:
        """Show how far it is, and take the answer to a checkpoint."""
        self.run = seen.run["run"]
        waiting = next(seen.checkpoints(), None)
        if waiting is not None and is_foreground() and self._may_answer():
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
            *(
                f"waits for you: hostbridge reply {run}"
                for run, _, _ in seen.checkpoints()
            ),
        ]
        text = printed(lines, colour=screen_of(sys.stderr).colour)
        self._live.update(Text.from_ansi(text), refresh=True)

    def _may_answer(self) -> bool:
        bridge = self._bridge
        try:
            only_by_hand(bridge.settings, bridge.store, "hostbridge run")
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
            sys.stderr.write(f"Your answer ({how_to_say(seen, run_id, node)}): ")
            sys.stderr.flush()
        if select.select([stdin], [], [], 0)[0]:
            self._asked = None
            try:
                line = typed_on(stdin)
            except ValueError as exc:
                complain(f"not an answer: {exc}")
                return
            if not line:
                return
            act = partial(
                by_hand.say,
                node=node,
                text=line,
                by="run",
                language=language(),
                asked=asked,
            )
            try:
                advance(self._bridge.store, self._bridge.settings, run_id, act)
            except InvalidRequest as exc:
                complain(exc.what)


def bar_of(seen: RunView) -> Line:
    """How much of a run has ended."""
    ended, steps = seen.ended()
    full = _BAR * ended // max(1, steps)
    again = _round(seen)
    more = f", round {again}" if again > 1 else ""
    return "━" * full + "╌" * (_BAR - full) + f"  {ended} of {steps} steps{more}"


def _round(seen: RunView) -> int:
    """Which round of its outermost loop a run is in: of the one that begins first."""
    nodes = [*seen.plan["nodes"]]
    loops = seen.run["loops"].items()
    taken = [(nodes.index(name.partition(">")[2]), count) for name, count in loops]
    return min(taken, default=(0, 0))[1] + 1
