"""The ends of requests, each counted once in its cell. Pure.

A hundred thousand of them are a matter of a tenth of a second: this is why times are
collected first, and put into buckets together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from bridge.metrics.histogram import histogram_of
from bridge.metrics.lines import End, Later, Reader
from bridge.metrics.names import Names
from bridge.metrics.tally import Tally

Key = tuple[str, str, str, str]
# Where in a line the digits of its time stand that say of which day it is.
PART = slice(6, 14)


class _Counted:
    """A tally, and the times that are still to be put into its buckets."""

    __slots__ = ("durations", "tally", "waits")

    def __init__(self) -> None:
        self.tally = Tally()
        self.durations: list[int] = []
        self.waits: list[int] = []


class EndCounter:
    """What became of requests.

    Args:
        told: what agents told after an answer, by request; may grow meanwhile.
        runs: of these runs it is counted what their requests took; may grow, too.

    Attributes:
        run_tokens: that.
    """

    def __init__(self, told: Mapping[str, Later], runs: Collection[str]) -> None:
        self.run_tokens: dict[str, int] = {}
        self._told = told
        self._runs = runs
        self._took_ms: dict[str, int | None] = {}
        # By what the lines say, and by the names that are kept of it.
        self._known: dict[Key, _Counted] = {}
        self._found: dict[Key, _Counted] = {}
        self._agents, self._routes, self._models = Names(), Names(), Names()
        self._codes = Names()

    def tallies(self) -> dict[Key, Tally]:
        """What was counted, by day, agent, route and model."""
        for counted in self._found.values():
            counted.tally.durations = histogram_of(counted.durations)
            counted.tally.waits = histogram_of(counted.waits)
        return {key: self._found[key].tally for key in sorted(self._found)}

    def add_all(self, lines: Iterable[bytes], days: Mapping[bytes, str]) -> None:
        """Count ends, by their lines: none twice, no broken one.

        `days` is by what stands at `PART` in a line.
        """
        seen, known, told, read = self._took_ms, self._known, self._told, _ENDS.read
        for line in lines:
            end = read(line)
            if end is None or seen.get(end.request_id, -1) == end.duration_ms:
                continue
            seen[end.request_id] = end.duration_ms
            if end.request_id in told:
                later = told[end.request_id]
                usage, model = later.usage or end.usage, later.model or end.model
                end = end._replace(usage=usage, model=model)
            key = (days[line[PART]], end.agent, end.route, end.model)
            counted = known.get(key) or self._counted(key)
            self._add(counted, end)

    def _add(self, counted: _Counted, end: End) -> None:
        tally, usage = counted.tally, end.usage
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
            code = self._codes.of(end.code or end.event)
            tally.failures[code] = tally.failures.get(code, 0) + 1
        tally.retries += end.retries
        tally.corrections += end.corrections
        tally.degraded += end.degraded
        if usage is None:
            tally.without_usage += 1
            return
        took = tally.usage
        took.input += usage.input_tokens
        took.cache_read += usage.cache_read_tokens
        took.cache_write += usage.cache_write_tokens
        took.output += usage.output_tokens
        took.requests += usage.requests
        if self._runs and (run := end.request_id.partition("-")[0]) in self._runs:
            self.run_tokens[run] = self.run_tokens.get(run, 0) + usage.tokens

    def _counted(self, key: Key) -> _Counted:
        """The tally of what a line says; by names that are short and not too many."""
        day, agent, route, model = key
        names = self._agents.of(agent), self._routes.of(route), self._models.of(model)
        counted = self._found.setdefault((day, *names), _Counted())
        self._known[key] = counted
        return counted


_ENDS = Reader(End)
