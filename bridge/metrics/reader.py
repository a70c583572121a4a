"""Metrics from the journal: its lines about ends, counted in cells.

No other file is read. Only the lines of these events are decoded; one that is broken,
or says something else than expected, counts for what of it can be used, and never
twice: an end is known by its request and its duration, a run by its last end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from bridge.metrics.cells import Cell, FlowCell, Metrics, TaskCell
from bridge.metrics.days import Days
from bridge.metrics.end_counter import PART, EndCounter, count_of
from bridge.metrics.histogram import histogram_of
from bridge.metrics.names import Names
from bridge.store import journal

if TYPE_CHECKING:
    from bridge.metrics.cells import Dimension
    from bridge.store.store import Store

# The beginning of every line of the journal. Inside of a line it cannot stand: there
# quotes are escaped.
_LINE = re.compile(
    rb'\{"at":[0-9]{13},"event":"(?:completed|failed|timeout|cancelled|usage|'
    rb"run (?:completed|failed|cancelled)|"
    rb'task (?:created|closed|passed|failed|escalated))",[^\n]*'
)
_FIRST = re.compile(rb'\{"at":([0-9]{13}),')
# Where in a line its time stands, and the first letters of its event.
_AT = slice(6, 19)
_EVENT = 29
_KIND = slice(_EVENT, _EVENT + 2)
_OTHERS = frozenset({b"us", b"ru", b"ta"})
# What a line of usage says of an end that was there before.
_LATER = ("usage", "model")
_NEVER_MS = 10**13 - 1


class _Run(NamedTuple):
    """How a run has ended."""

    day: str
    status: str
    facts: dict[str, Any]


def read(store: Store, *, since_ms: int, by: tuple[Dimension, ...] = ()) -> Metrics:
    """What became of requests, flows and tasks since then; `by` is for `groups`.

    Raises:
        StateUnavailable, StateRefused: the state directory cannot be used.
    """
    until_ms = store.now_ms()
    found = _Reading(since_ms, until_ms)
    if store.exists():
        with store.state(make=False) as state:
            for data in journal.contents(state.directory):
                found.read(data)
    begins_ms = found.begins_ms
    return Metrics(
        project=str(store.place.project),
        since_ms=since_ms or begins_ms or until_ms,
        until_ms=until_ms,
        begins_ms=begins_ms,
        events=found.events,
        cells=found.cells(),
        flows=found.flows(),
        tasks=tuple(found.tasks[day] for day in sorted(found.tasks)),
        by=by,
    )


class _Reading:
    """What the lines of a time say."""

    def __init__(self, since_ms: int, until_ms: int) -> None:
        self.begins_ms: int | None = None
        self.events = 0
        self.tasks: dict[str, TaskCell] = {}
        # Times of thirteen digits are in order as bytes, too.
        self._since, self._until = (
            b"%013d" % max(0, min(ms, _NEVER_MS)) for ms in (since_ms, until_ms)
        )
        self._days = Days()
        self._told: dict[str, dict[str, Any]] = {}
        self._runs: dict[str, _Run] = {}
        self._counter = EndCounter(self._told, self._runs)

    def read(self, data: bytes) -> None:
        """Read a file of the journal; the newest has to be the first.

        So all that is said of an end later, and of the run that it belongs to, is known
        when it is counted.
        """
        if first := _FIRST.match(data):
            self.begins_ms = int(first[1])
        since, until = self._since, self._until
        lines = [one for one in _LINE.findall(data) if since <= one[_AT] <= until]
        self.events += len(lines)
        ends = [one for one in lines if one[_KIND] not in _OTHERS]
        if len(ends) < len(lines):
            for line in reversed(lines):
                if line[_KIND] in _OTHERS:
                    self._take(line)
        self._counter.add_all(ends, self._days)

    def _take(self, line: bytes) -> None:
        facts = _object(line)
        about = facts.get("requestId")
        if not isinstance(about, str):
            return
        said = line[_EVENT : line.index(b'"', _EVENT)].decode()
        kind, _, event = said.partition(" ")
        day = self._days[line[PART]]
        if kind == "usage":
            later = {name: facts[name] for name in _LATER if name in facts}
            self._told.setdefault(about, later)
        elif kind == "run":
            self._runs.setdefault(about, _Run(day, event, facts))
        else:
            cell = self.tasks.setdefault(day, TaskCell(day))
            setattr(cell, event, getattr(cell, event) + 1)

    def cells(self) -> tuple[Cell, ...]:
        """The requests, by day, agent, route and model."""
        found = self._counter.tallies()
        return tuple(Cell(*key, tally) for key, tally in found.items())

    def flows(self) -> tuple[FlowCell, ...]:
        """The runs, by day and flow."""
        names = Names()
        found: dict[tuple[str, str], FlowCell] = {}
        told = self._counter.run_tokens
        for run, (day, status, facts) in self._runs.items():
            key = day, names.of(facts.get("flow"))
            cell = found.setdefault(key, FlowCell(*key))
            # The last agents may tell what they took after the run's end; of those
            # that ended before the time in question, only the run's line tells.
            tokens = max(told.get(run, 0), count_of(facts.get("tokens")))
            agents = count_of(facts.get("agents"))
            took = histogram_of([count_of(facts.get("durationMs")) or 1])
            cell.add(FlowCell(*key, {status: 1}, took, agents, tokens))
        return tuple(found[key] for key in sorted(found))


def _object(line: bytes) -> dict[str, Any]:
    """What a line says; nothing if it is broken, or was still being written."""
    try:
        facts: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return facts
