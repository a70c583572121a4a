"""The waterfall of one question to an idle session: who had the time, and when.

Each hook is started by a bash that writes down when it began and ended. Beside it, in
the same rounds, stands the cheapest start of Python. The client is the real one, its
model answers at once, so all else is the client's own time.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from bench import host
from bench.floors import FLOORS
from bench.table import Row
from bench.timing import Series, run
from bench.wakes import PAUSE_S, enter, open_bridge
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import obedient_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.host import Table
    from bridge import Bridge

# `$1` to `$4` are what `/bin/sh` gets: -c, its line, the script and the event.
_NOTED = """
begun=$EPOCHREALTIME; /bin/sh "$@"; code=$?
echo "$begun $EPOCHREALTIME $4 (${3##*/})" >>'LOG'; exit $code
"""
# The hooks that follow the answer, which nobody waits for, end within this time.
_AFTER_S = 1.0


class Span(NamedTuple):
    """What happened, from when to when: milliseconds since the question."""

    what: str
    begun: float
    ended: float


def measure(root: Path, rounds: int) -> list[Row]:
    """One stream session, asked again and again."""
    spans: dict[str, list[Span]] = {}
    floor, log = Series(), root / "hooks.log"
    with ExitStack() as stack:
        api = stack.enter_context(ScriptedApi(obedient_model()))
        stage = host.world(root / "story", api, _noted(log))
        enter(stack, stage, "stream")
        bridge = open_bridge(stage)
        for turn in range(-1, rounds):
            time.sleep(PAUSE_S)
            log.write_text("")
            started = run(FLOORS["python"], stage.environment()).ms
            told = _told(bridge, log)
            if turn < 0:
                continue
            floor.values.append(started)
            for span in told:
                spans.setdefault(span.what, []).append(span)
    return [*_rows(spans, floor), Row("floor: python, json, os", floor)]


def _noted(log: Path) -> Table:
    """Our hooks, each of which leaves a line in `log`."""
    table = host.our_hooks()
    line = _NOTED.replace("LOG", str(log))
    for entry in (entry for group in table.values() for entry in group):
        for hook in entry["hooks"]:
            hook["args"] = ["-c", line, "story", *hook["args"]]
            hook["command"] = "/bin/bash"
    return table


def _told(bridge: Bridge, log: Path) -> list[Span]:
    """Ask once; returns what happened until the last hook has ended."""
    asked = time.time()
    result = bridge.ask("How are you?", timeout_s=60)
    answered = time.time()
    assert result.success
    file = bridge.store.place.state / "responses" / f"{result.request_id}.json"
    linked = file.stat().st_ctime_ns / 1e9
    time.sleep(_AFTER_S)
    spans, seen = [], Counter[str]()
    for text in sorted(log.read_text().splitlines()):
        begun, ended, what = text.split(" ", 2)
        seen[what] += 1
        name = what if seen[what] == 1 else f"{what}, {seen[what]}"
        spans.append(Span(name, float(begun), float(ended)))
    spans += [
        Span("question -> answer", asked, answered),
        Span("  in none of our hooks", asked, asked + _idle_s(spans, asked, linked)),
        Span("the answer is linked", linked, answered),
    ]
    return [Span(what, (a - asked) * 1000, (b - asked) * 1000) for what, a, b in spans]


def _idle_s(spans: list[Span], begun: float, ended: float) -> float:
    """How many seconds of a time none of the spans was in."""
    idle, at = 0.0, begun
    for span in sorted(spans, key=lambda each: each.begun):
        idle += max(0.0, min(span.begun, ended) - at)
        at = max(at, min(span.ended, ended))
    return idle + ended - at


def _rows(spans: dict[str, list[Span]], floor: Series) -> Iterator[Row]:
    """One row for each thing that happened, in the order in which they began."""
    begins = {
        what: Series([each.begun for each in found]) for what, found in spans.items()
    }
    for what, begun in sorted(begins.items(), key=lambda each: each[1].median):
        took = Series([each.ended - each.begun for each in spans[what]])
        yield Row(f"{begun.median:6.0f} ms  {what}", took, floor)
