"""What became of requests, flows and tasks of a project in a time, in groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bridge.errors import InvalidRequest
from bridge.metrics.counts import BASE, Cell, FlowCell, Tally, TaskCell
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


@dataclass(frozen=True, slots=True)
class Metrics:
    """What became of requests, flows and tasks of a project in a time.

    Attributes:
        project: its folder.
        since_ms: where the time begins, in milliseconds since 1970; of all that is on
            record, when that begins.
        until_ms: when it ends: when the journal was read.
        begins_ms: when the journal begins; None without a journal. What was before
            it is not on record any more.
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
