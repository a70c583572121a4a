"""A run that is followed on the terminal: what runs is shown, Ctrl-C pauses it."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from bridge.api.follow_run import pause
from bridge.cli.common.interrupts import Interrupts
from bridge.cli.common.output import complain, span, visible
from bridge.cli.running.run_display import Display
from bridge.cli.running.run_text import waits_for_you
from bridge.cli.screen.screen import cut
from bridge.engine.answers import Answers
from bridge.flow.drawing import label_of
from bridge.validation.report import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.api.bridge import Bridge
    from bridge.engine.view import RunView


_LONG_CHARS = 60
_VERDICTS = tuple(map(str, Verdict))


class RunLog(AbstractContextManager["RunLog"]):
    """Tells each step that has ended, once, and each checkpoint that waits: on stderr.

    With `only_waiting` the checkpoints alone. `run` is its id, once it has begun.
    """

    def __init__(self, bridge: Bridge, *, only_waiting: bool) -> None:
        self.run = ""
        self._bridge = bridge
        self._only_waiting = only_waiting
        self._told: set[tuple[Any, ...]] = set()

    def __exit__(self, *_: object) -> None:
        """Nothing is left to be cleared."""

    def __call__(self, seen: RunView) -> None:
        """Tell what is new."""
        if not self._only_waiting:
            # What had ended before a run was resumed is no news.
            self._tell_ended(seen, "", is_news=bool(self.run))
        self.run = seen.run["run"]
        for run_id, node, asked in seen.checkpoints():
            if self._is_new(asked):
                complain(waits_for_you(self._bridge, run_id, node))

    def _tell_ended(self, seen: RunView, above: str, *, is_news: bool) -> None:
        for name, node, detail, entry in seen.steps():
            if child := seen.children.get(name):
                self._tell_ended(child, f"{above}{name}/", is_news=is_news)
            state = entry.get("state", "open")
            has_ended = "attempt" in entry and state != "open"
            mark = above, name, entry.get("visit", 1), entry.get("attempt"), state
            if has_ended and self._is_new(*mark) and is_news:
                took = span(max(0, seen.run["at"] - entry.get("at", 0)) / 1000)
                is_said = node["kind"] == "agent" and state == "ok"
                with self._bridge.store.state() as kept:
                    answers = Answers(kept, seen.run)
                    shown = answers.shown(detail, entry)
                    said = answers.output(name) if is_said else None
                what = visible(cut(str(label_of(node, shown)), _LONG_CHARS))
                how = _says(said) or ("failed" if state == "stopped" else state)
                more = "" if what == name else f": {what}"
                complain(f"{above}{name} {how} after {took}{more}")

    def _is_new(self, *mark: Any) -> bool:
        is_new = mark not in self._told
        self._told.add(mark)
        return is_new


def _says(answer: Any) -> str:
    """What a validator says; empty for the answer of any other agent."""
    verdict = answer.get("verdict") if isinstance(answer, dict) else None
    return f"says {verdict}" if verdict in _VERDICTS else ""


T = TypeVar("T")


def shown(
    bridge: Bridge, go: Callable[[Callable[[Any], None]], T], *, as_json: bool
) -> T:
    """Have a run followed by `go`, which tells of each change; what that returns."""
    display: Display | RunLog
    if sys.stderr.isatty() and not as_json:
        display = Display(bridge)
    else:
        display = RunLog(bridge, only_waiting=as_json)
    interrupts = Interrupts()
    interrupts.on()

    def on_change(seen: Any) -> None:
        interrupts()
        display(seen)

    try:
        with display:
            return go(on_change)
    except KeyboardInterrupt as exc:
        if display.run and pause(bridge.store, bridge.settings, display.run):
            exc.add_note(
                f"the run is paused; go on with: hostbridge run --resume {display.run}"
            )
        raise
