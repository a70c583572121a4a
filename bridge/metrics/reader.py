"""Metrics from the journal: its lines about ends, counted in cells.

No other file is read. Only the lines of some events are decoded; one that is broken, or
says something else than expected, counts for what of it can be used. None counts twice:
an end is known by its request and its duration, a run by its last end.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from bridge.metrics.counts import Cell, FlowCell, Histogram, Tally, TaskCell, Tokens
from bridge.metrics.days import Days
from bridge.metrics.lines import End, Later, Names, Reader, RunEnd
from bridge.metrics.metrics import Metrics
from bridge.store import journal

if TYPE_CHECKING:
    from bridge.metrics.metrics import Dimension
    from bridge.store.store import Store

# The beginning of every line of the journal. Inside of a line it cannot stand: there
# quotes are escaped.
_LINE = re.compile(
    rb'\{"at":[0-9]{13},"event":"(?:completed|failed|timeout|cancelled|usage|'
    rb"run (?:completed|failed|cancelled)|"
    rb'task (?:created|closed|passed|failed|escalated))",[^\n]*'
)
_FIRST = re.compile(rb'\{"at":([0-9]{13}),')
# Where in a line its time stands; the digits of it that say which day it is; and the
# first letters of the event.
_AT = slice(6, 19)
_PART = slice(6, 14)
_EVENT = 29
_KIND = slice(_EVENT, _EVENT + 2)
_NEVER_MS = 10**13 - 1
_ENDS, _LATER, _RUNS = Reader(End), Reader(Later), Reader(RunEnd)


class _Run(NamedTuple):
    """How a run has ended."""

    day: str
    status: str
    end: RunEnd


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


class _Counted:
    """A tally, and what is still to be summed up into it."""

    __slots__ = ("durations", "tally", "took", "waits")

    def __init__(self) -> None:
        self.tally = Tally()
        self.durations: list[int] = []
        self.waits: list[int] = []
        self.took: list[Tokens] = []

    def whole(self) -> Tally:
        self.tally.durations = Histogram.of(self.durations)
        self.tally.waits = Histogram.of(self.waits)
        self.tally.usage = Tokens(*map(sum, zip(*self.took, strict=True)))
        return self.tally


class _EndCounter:
    """The ends of requests, each counted once in its tally.

    A hundred thousand of them take some tenths of a second: this is why times and
    tokens are collected first, and summed up together.

    Args:
        later: what agents took in the end, by request; may grow meanwhile.
        runs: the runs whose requests' tokens are counted; may grow, too.

    Attributes:
        run_tokens: the tokens that the requests of each run took.
    """

    def __init__(self, later: Mapping[str, Later], runs: Collection[str]) -> None:
        self.run_tokens: dict[str, int] = {}
        self._later = later
        self._runs = runs
        self._took_ms: dict[str, int | None] = {}
        self._found: dict[tuple[str, str, str, str], _Counted] = {}
        self._agents, self._routes, self._models = Names(), Names(), Names()
        self._codes = Names()

    def tallies(self) -> Iterable[tuple[tuple[str, str, str, str], Tally]]:
        """What was counted, by day, agent, route and model."""
        return [(key, self._found[key].whole()) for key in sorted(self._found)]

    def add_all(self, lines: Iterable[bytes], days: Mapping[bytes, str]) -> None:
        """Count ends, by their lines: none twice, no broken one.

        `days` is by what stands at `_PART` in a line.
        """
        seen, found, more, read = self._took_ms, self._found, self._later, _ENDS.read
        agents, routes, models = self._agents, self._routes, self._models
        for line in lines:
            end = read(line)
            if end is None or seen.get(end.request_id, -1) == end.duration_ms:
                continue
            seen[end.request_id] = end.duration_ms
            if end.request_id in more:
                later = more[end.request_id]
                usage, model = later.usage or end.usage, later.model or end.model
                end = end._replace(usage=usage, model=model)
            day, agent = days[line[_PART]], agents[end.agent]
            key = (day, agent, routes[end.route], models[end.model])
            counted = found.get(key) or found.setdefault(key, _Counted())
            self._add(counted, end)

    def _add(self, counted: _Counted, end: End) -> None:
        tally = counted.tally
        tally.ended += 1
        if end.duration_ms is not None:
            counted.durations.append(end.duration_ms or 1)
        if end.wait_ms is not None:
            counted.waits.append(end.wait_ms or 1)
        if end.code is None and end.event == "completed":
            tally.succeeded += 1
            if end.verified is not None:
                tally.verifiable += 1
                tally.verified += end.verified
        else:
            code = self._codes[end.code or end.event]
            tally.failures[code] = tally.failures.get(code, 0) + 1
        tally.retries += end.retries
        tally.corrections += end.corrections
        tally.degraded += end.degraded
        if end.usage is None:
            tally.without_usage += 1
            return
        took = Tokens.of(end.usage)
        counted.took.append(took)
        if self._runs and (run := end.request_id.partition("-")[0]) in self._runs:
            self.run_tokens[run] = self.run_tokens.get(run, 0) + took.tokens


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
        self._told: dict[str, Later] = {}
        self._runs: dict[str, _Run] = {}
        self._counter = _EndCounter(self._told, self._runs)

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
        ends = [one for one in lines if one[_KIND] not in _TAKES]
        if len(ends) < len(lines):
            for line in reversed(lines):
                if take := _TAKES.get(line[_KIND]):
                    take(self, line)
        self._counter.add_all(ends, self._days)

    def take_usage(self, line: bytes) -> None:
        """The last report of a usage counts."""
        if (later := _LATER.read(line)) is not None:
            self._told.setdefault(later.request_id, later)

    def take_run(self, line: bytes) -> None:
        """The last end of a run counts: it may have been resumed after another."""
        if (end := _RUNS.read(line)) is not None:
            run = _Run(self._days[line[_PART]], _event(line), end)
            self._runs.setdefault(end.request_id, run)

    def take_task(self, line: bytes) -> None:
        """Count what happened to a task."""
        day, event = self._days[line[_PART]], _event(line)
        cell = self.tasks.setdefault(day, TaskCell(day))
        setattr(cell, event, getattr(cell, event) + 1)

    def cells(self) -> tuple[Cell, ...]:
        """The requests, by day, agent, route and model."""
        return tuple(Cell(*key, tally) for key, tally in self._counter.tallies())

    def flows(self) -> tuple[FlowCell, ...]:
        """The runs, by day and flow."""
        names = Names()
        found: dict[tuple[str, str], FlowCell] = {}
        for name, (day, status, end) in self._runs.items():
            key = day, names[end.flow]
            times = [] if end.duration_ms is None else [end.duration_ms or 1]
            # The last agents may report what they took after the run's end; what others
            # took before the time in question stands in the run's line alone.
            tokens = max(self._counter.run_tokens.get(name, 0), end.tokens)
            run = FlowCell(*key, {status: 1}, Histogram.of(times), end.agents, tokens)
            found.setdefault(key, FlowCell(*key)).add(run)
        return tuple(found[key] for key in sorted(found))


# By the first letters of their events, what becomes of lines that are no ends.
_TAKES = {
    b"us": _Reading.take_usage,
    b"ru": _Reading.take_run,
    b"ta": _Reading.take_task,
}


def _event(line: bytes) -> str:
    """The last word of the event of a line."""
    said = line[_EVENT : line.index(b'"', _EVENT)]
    return said.rpartition(b" ")[2].decode()
