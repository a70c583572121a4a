"""The ends of requests, each counted once in its cell. Pure.

A hundred thousand of them are a matter of a tenth of a second: this is why times are
collected first, and put into buckets together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import orjson

from bridge.metrics.cells import Tally, Tokens
from bridge.metrics.histogram import histogram_of
from bridge.metrics.names import Names

Facts = Mapping[str, Any]
Key = tuple[str, str, str, str]
# Where in a line the digits of its time stand that say of which day it is.
PART = slice(6, 14)
# What is more is no count of anything here; and all sums stay within JSON.
LARGEST = 10**12


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

    def __init__(self, told: Mapping[str, Facts], runs: Collection[str]) -> None:
        self.run_tokens: dict[str, int] = {}
        self._runs = runs
        self._told = told
        self._took_ms: dict[str, object] = {}
        # By what was told, which is quick to find; by the names that became of it.
        self._known: dict[tuple[object, ...], _Counted] = {}
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
        seen, known, told, loads = self._took_ms, self._known, self._told, orjson.loads
        for line in lines:
            try:
                end = loads(line)
            except orjson.JSONDecodeError:
                continue
            get = end.get
            request, took_ms = get("requestId"), get("durationMs")
            if type(request) is not str or seen.get(request, end) == took_ms:
                continue
            seen[request] = took_ms
            if request in told:
                end |= told[request]
            key = (days[line[PART]], get("agent"), get("route"), get("model"))
            try:
                counted = known[key]
            except (KeyError, TypeError):
                counted = self._counted(*key)
            if type(took_ms) is int and 0 <= took_ms <= LARGEST:
                counted.durations.append(took_ms or 1)
            waited_ms = get("waitMs")
            if type(waited_ms) is int and 0 <= waited_ms <= LARGEST:
                counted.waits.append(waited_ms or 1)
            self._add(counted.tally, request, end)

    def _add(self, tally: Tally, request: str, end: Facts) -> None:
        tally.ended += 1
        if "code" in end or end.get("event") != "completed":
            self._add_failure(tally, end)
        else:
            tally.succeeded += 1
            if type(verified := end.get("verified")) is bool:
                tally.verifiable += 1
                tally.verified += verified
        if "retries" in end or "corrections" in end or "degraded" in end:
            _add_rare(tally, end)
        usage = end.get("usage")
        if type(usage) is dict:
            _add_usage(tally.usage, usage)
            if self._runs:
                self._add_run_tokens(request, usage)
        else:
            tally.without_usage += 1

    def _counted(
        self, day: str, agent: object, route: object, model: object
    ) -> _Counted:
        """The tally of what was told; by names that are texts, and not too many."""
        names = self._agents.of(agent), self._routes.of(route), self._models.of(model)
        counted = self._found.setdefault((day, *names), _Counted())
        if type(agent) is type(route) is str and (model is None or type(model) is str):
            self._known[day, agent, route, model] = counted
        return counted

    def _add_failure(self, tally: Tally, end: Facts) -> None:
        code = self._codes.of(end.get("code")) or self._codes.of(end.get("event"))
        tally.failures[code] = tally.failures.get(code, 0) + 1

    def _add_run_tokens(self, request: str, told: Facts) -> None:
        run = request.partition("-")[0]
        if run in self._runs:
            counted = Tokens()
            _add_usage(counted, told)
            before = self.run_tokens.get(run, 0)
            self.run_tokens[run] = before + counted.tokens


def _add_usage(usage: Tokens, told: Facts) -> None:
    get, most = told.get, LARGEST
    if type(count := get("inputTokens")) is int and 0 < count <= most:
        usage.input += count
    if type(count := get("cacheReadTokens")) is int and 0 < count <= most:
        usage.cache_read += count
    if type(count := get("cacheWriteTokens")) is int and 0 < count <= most:
        usage.cache_write += count
    if type(count := get("outputTokens")) is int and 0 < count <= most:
        usage.output += count
    if type(count := get("requests")) is int and 0 < count <= most:
        usage.requests += count


def _add_rare(tally: Tally, end: Facts) -> None:
    tally.retries += count_of(end.get("retries"))
    tally.corrections += count_of(end.get("corrections"))
    tally.degraded += end.get("degraded") is True


def count_of(told: object) -> int:
    """A number that was told; 0 for one that cannot be."""
    return told if type(told) is int and 0 <= told <= LARGEST else 0
