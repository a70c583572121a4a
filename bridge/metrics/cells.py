"""What became of requests, flows and tasks, in cells that add up. Pure.

A cell counts the requests of one day, agent, route and model that have ended. Cells of
any group, added, give what the group comes to, its percentiles included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from bridge.errors import InvalidRequest
from bridge.metrics.histogram import BASE, Histogram, add_to, pairs_of, quantile_ms
from bridge.protocol.wording import quoted

SCHEMA_VERSION = 1
Dimension = Literal["day", "agent", "route", "model"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)


def dimensions_of(by: object) -> tuple[Dimension, ...]:
    """What is to be grouped by: one name, or several; each counts once.

    Raises:
        InvalidRequest: it is not what can be grouped by.
    """
    is_several = isinstance(by, Iterable) and not isinstance(by, str)
    names: list[Any] = [*by] if is_several else [by]  # type: ignore[misc]
    for name in names:
        if name not in DIMENSIONS:
            raise InvalidRequest(
                f"by {quoted(name)}: expected {', '.join(DIMENSIONS[:-1])} or "
                f"{DIMENSIONS[-1]}"
            )
    return tuple(dict.fromkeys(names))


@dataclass(slots=True)
class Tokens:
    """What models took, as `bridge.protocol.usage.Usage` counts it."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    requests: int = 0

    def add(self, other: Tokens) -> None:
        """Add another's counts."""
        self.input += other.input
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.output += other.output
        self.requests += other.requests

    @property
    def tokens(self) -> int:
        """What counts against budgets: everything but what a cache had."""
        return self.input + self.cache_write + self.output

    def to_data(self) -> dict[str, int]:
        """As JSON, in the words of a response's `usage`."""
        return {
            "inputTokens": self.input,
            "cacheReadTokens": self.cache_read,
            "cacheWriteTokens": self.cache_write,
            "outputTokens": self.output,
            "requests": self.requests,
        }


@dataclass(slots=True)
class Tally:
    """What some requests came to.

    Attributes:
        ended: how many have ended, however.
        succeeded: how many of them with a valid answer that reports no failure.
        failures: how many failed, by code.
        retries: attempts after the first.
        corrections: how often an agent was told to mend its answer.
        verifiable: successes of which it can be told whether they rest on something
            that was seen to run: in the default form, or with a record of the run.
        verified: how many of those do.
        degraded: answers of a small model, or of another than was wanted.
        usage: what the models took, as far as routes tell.
        without_usage: requests of which nobody told what they took.
        durations: from the question to the end.
        waits: from the question to the moment at which an agent began; of those that
            nobody began, there is none.
    """

    ended: int = 0
    succeeded: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    retries: int = 0
    corrections: int = 0
    verifiable: int = 0
    verified: int = 0
    degraded: int = 0
    usage: Tokens = field(default_factory=Tokens)
    without_usage: int = 0
    durations: Histogram = field(default_factory=dict)
    waits: Histogram = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Add another's counts."""
        self.ended += other.ended
        self.succeeded += other.succeeded
        for code, count in other.failures.items():
            self.failures[code] = self.failures.get(code, 0) + count
        self.retries += other.retries
        self.corrections += other.corrections
        self.verifiable += other.verifiable
        self.verified += other.verified
        self.degraded += other.degraded
        self.usage.add(other.usage)
        self.without_usage += other.without_usage
        add_to(self.durations, other.durations)
        add_to(self.waits, other.waits)

    @property
    def success_rate(self) -> float | None:
        """The share that succeeded, from 0 to 1; None if nothing has ended."""
        return self.succeeded / self.ended if self.ended else None

    @property
    def verified_share(self) -> float | None:
        """The share of `verified` in `verifiable`, from 0 to 1; None without any."""
        return self.verified / self.verifiable if self.verifiable else None

    def duration_ms(self, share: float) -> float | None:
        """A percentile of the durations, within 2.5 %; see `quantile_ms`."""
        return quantile_ms(self.durations, share)

    def wait_ms(self, share: float) -> float | None:
        """A percentile of the waits, within 2.5 %; see `quantile_ms`."""
        return quantile_ms(self.waits, share)

    def to_data(self) -> dict[str, Any]:
        """As JSON; see `Metrics.to_data`."""
        return {
            **self._counts(),
            "durations": pairs_of(self.durations),
            "waits": pairs_of(self.waits),
        }

    def figures(self) -> dict[str, Any]:
        """The counts, and shares and percentiles in place of buckets, as JSON."""
        return {
            **self._counts(),
            "successRate": self.success_rate,
            "verifiedShare": self.verified_share,
            "durationMs": _percentiles(self.durations),
            "waitMs": _percentiles(self.waits),
        }

    def _counts(self) -> dict[str, Any]:
        return {
            "ended": self.ended,
            "succeeded": self.succeeded,
            "failures": dict(sorted(self.failures.items())),
            "retries": self.retries,
            "corrections": self.corrections,
            "verifiable": self.verifiable,
            "verified": self.verified,
            "degraded": self.degraded,
            "usage": self.usage.to_data(),
            "withoutUsage": self.without_usage,
        }


class Cell(NamedTuple):
    """The requests of a day, an agent, a route and a model that have ended.

    `day` is `2026-11-27`, in the local time zone. `model` is empty if nobody told
    which; `agent` and `route` too, for what an earlier hostbridge has noted.
    """

    day: str
    agent: str
    route: str
    model: str
    tally: Tally

    def to_data(self) -> dict[str, Any]:
        """As JSON; see `Metrics.to_data`."""
        return {
            "day": self.day,
            "agent": self.agent,
            "route": self.route,
            "model": self.model,
            **self.tally.to_data(),
        }


@dataclass(slots=True)
class FlowCell:
    """The runs of a flow or a pipeline that have ended on a day.

    Attributes:
        day, name: which; the name is empty if the flow has none.
        ended: how many, by status: completed, failed, cancelled.
        durations: from a run's beginning to its end.
        agents: how many agents they have asked, without those of flows they called.
        tokens: what these took, as far as routes tell.
    """

    day: str
    name: str
    ended: dict[str, int] = field(default_factory=dict)
    durations: Histogram = field(default_factory=dict)
    agents: int = 0
    tokens: int = 0

    def add(self, other: FlowCell) -> None:
        """Add another's counts."""
        for status, count in other.ended.items():
            self.ended[status] = self.ended.get(status, 0) + count
        add_to(self.durations, other.durations)
        self.agents += other.agents
        self.tokens += other.tokens

    def to_data(self) -> dict[str, Any]:
        """As JSON; see `Metrics.to_data`."""
        return {
            "day": self.day,
            "name": self.name,
            "ended": dict(sorted(self.ended.items())),
            "durations": pairs_of(self.durations),
            "agents": self.agents,
            "tokens": self.tokens,
        }


@dataclass(slots=True)
class TaskCell:
    """What happened to tasks on a day. `passed` and `failed` are validations."""

    day: str
    created: int = 0
    closed: int = 0
    passed: int = 0
    failed: int = 0
    escalated: int = 0

    def add(self, other: TaskCell) -> None:
        """Add another's counts."""
        self.created += other.created
        self.closed += other.closed
        self.passed += other.passed
        self.failed += other.failed
        self.escalated += other.escalated

    def to_data(self) -> dict[str, Any]:
        """As JSON; see `Metrics.to_data`."""
        return {
            "day": self.day,
            "created": self.created,
            "closed": self.closed,
            "passed": self.passed,
            "failed": self.failed,
            "escalated": self.escalated,
        }


def _percentiles(times: Histogram) -> dict[str, float | None]:
    found = {"p50": quantile_ms(times, 0.5), "p95": quantile_ms(times, 0.95)}
    return {name: ms and round(ms, 1) for name, ms in found.items()}


@dataclass(frozen=True, slots=True)
class Metrics:
    """What became of requests, flows and tasks of a project in a time.

    Attributes:
        project: its folder.
        since_ms: where the time begins, in milliseconds since 1970; of all that is on
            record, when that begins.
        until_ms: when it ends: when the journal was read.
        begins_ms: when the journal begins; None if there is none. What was before it
            is not on record any more.
        events: how many lines of the journal were counted.
        cells, flows, tasks: by day, then by name.
        by: what `groups` are grouped by.
    """

    project: str
    since_ms: int
    until_ms: int
    begins_ms: int | None
    events: int
    cells: tuple[Cell, ...]
    flows: tuple[FlowCell, ...]
    tasks: tuple[TaskCell, ...]
    by: tuple[Dimension, ...] = ()

    @property
    def total(self) -> Tally:
        """What all requests come to."""
        return grouped(self.cells, ())[()]

    @property
    def groups(self) -> dict[tuple[str, ...], Tally]:
        """What the requests of each group of `by` come to, by its names.

        By day they are in order of time, otherwise the largest group is the first.
        """
        found = grouped(self.cells, self.by)
        if self.by[:1] == ("day",):
            return dict(sorted(found.items()))
        return dict(sorted(found.items(), key=lambda one: (-one[1].ended, one[0])))

    def to_data(self) -> dict[str, Any]:
        """All of it as plain JSON.

            {"schemaVersion": 1, "project": "/home/u/app",
             "since": 1795300000000, "until": 1795904800000, "begins": 1795300000000,
             "events": 3, "base": 1.05,
             "cells": [{"day": "2026-11-27", "agent": "Explore", "route": "host",
                        "model": "sonnet", "ended": 2, "succeeded": 1,
                        "failures": {"timeout": 1}, "retries": 0, "corrections": 1,
                        "verifiable": 1, "verified": 1, "degraded": 0,
                        "usage": {"inputTokens": 900, "cacheReadTokens": 0,
                                  "cacheWriteTokens": 0, "outputTokens": 70,
                                  "requests": 3},
                        "withoutUsage": 1,
                        "durations": [[185, 1], [239, 1]], "waits": [[141, 1]]}],
             "flows": [{"day": "2026-11-27", "name": "review-change",
                        "ended": {"completed": 1}, "durations": [[240, 1]],
                        "agents": 4, "tokens": 5400}],
             "tasks": [{"day": "2026-11-27", "created": 2, "closed": 1, "passed": 1,
                        "failed": 0, "escalated": 0}],
             "by": ["agent"],
             "groups": [{"agent": "Explore", "ended": 2, "succeeded": 1, …,
                         "successRate": 0.5, "verifiedShare": 1.0,
                         "durationMs": {"p50": 8523.4, "p95": 118805.7},
                         "waitMs": {"p50": 996.1, "p95": 996.1}}],
             "total": {"ended": 2, "succeeded": 1, …}}

        Times are in milliseconds since 1970, `begins` may be null. In `durations` and
        `waits` a pair [b, n] says that n of them took from base^b up to base^(b+1)
        milliseconds. `Tally`, `FlowCell` and `TaskCell` explain the counts. Groups and
        the total have the counts of a cell without its buckets, and instead shares and
        percentiles, null where there is nothing to tell.
        """
        return {
            "schemaVersion": SCHEMA_VERSION,
            "project": self.project,
            "since": self.since_ms,
            "until": self.until_ms,
            "begins": self.begins_ms,
            "events": self.events,
            "base": BASE,
            "cells": [cell.to_data() for cell in self.cells],
            "flows": [flow.to_data() for flow in self.flows],
            "tasks": [task.to_data() for task in self.tasks],
            "by": list(self.by),
            "groups": [
                {**dict(zip(self.by, names, strict=True)), **tally.figures()}
                for names, tally in self.groups.items()
            ],
            "total": self.total.figures(),
        }


def grouped(
    cells: Iterable[Cell], by: Sequence[Dimension]
) -> dict[tuple[str, ...], Tally]:
    """What the requests of each group come to, by the values of these dimensions.

    By none, all are one group, which is there even without cells.
    """
    found: dict[tuple[str, ...], Tally] = {} if by else {(): Tally()}
    for cell in cells:
        key = tuple(getattr(cell, name) for name in by)
        found.setdefault(key, Tally()).add(cell.tally)
    return found
