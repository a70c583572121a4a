"""Counts that add up: what some requests, runs of a flow, or tasks came to. Pure.

Counts of any groups, added, give the counts of all of them, percentiles included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import repeat
from math import ceil, log
from operator import mul
from typing import Any, NamedTuple, Self

from bridge.protocol.plain_types import camel_case

BASE = 1.05
# What a percentile may be off by: half a bucket.
PRECISION = BASE**0.5 - 1
_PER_BUCKET = 1 / log(BASE)
# Larger numbers are no count of anything here, and all sums stay within 64 bits.
LARGEST = 10**12


class Histogram(dict[int, int]):
    """How many times lie in each bucket; an empty bucket is left out.

    Bucket `b` counts the times from 1.05^b up to 1.05^(b+1) milliseconds, and stands
    for the middle of the two. Times below a millisecond count as one.
    """

    @classmethod
    def of(cls, times_ms: Iterable[float]) -> Histogram:
        """The histogram of these times, each at least a millisecond."""
        return cls(Counter(map(int, map(mul, map(log, times_ms), repeat(_PER_BUCKET)))))

    def quantile_ms(self, share: float) -> float | None:
        """The least time, in milliseconds, that this share of times does not exceed.

        `share` is 0.5 for the median. The error is below `PRECISION`; None without any
        time.
        """
        rank = max(1, ceil(share * sum(self.values())))
        for bucket in sorted(self):
            rank -= self[bucket]
            if rank <= 0:
                return float(BASE ** (bucket + 0.5))
        return None


class Counts:
    """A dataclass whose numbers, and dicts of numbers, add up; texts are its key."""

    __slots__ = ()

    def add(self, other: Self) -> None:
        """Add another's counts."""
        for each in fields(self):  # type: ignore[arg-type]
            ours, theirs = getattr(self, each.name), getattr(other, each.name)
            if isinstance(ours, Tokens):
                setattr(
                    self, each.name, Tokens(*map(sum, zip(ours, theirs, strict=True)))
                )
            elif isinstance(ours, dict):
                for key, count in theirs.items():
                    ours[key] = ours.get(key, 0) + count
            elif isinstance(ours, int):
                setattr(self, each.name, ours + theirs)

    def to_data(self) -> dict[str, Any]:
        """As JSON, a histogram as pairs of bucket and count; see `Metrics.to_data`."""
        names = [each.name for each in fields(self)]  # type: ignore[arg-type]
        return {camel_case(name): _plain(getattr(self, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, Tokens):
        return dict(zip(_USAGE, value, strict=True))
    if isinstance(value, Histogram):
        return [[bucket, value[bucket]] for bucket in sorted(value)]
    return dict(sorted(value.items())) if isinstance(value, dict) else value


class Tokens(NamedTuple):
    """What models took, as `bridge.protocol.usage.Usage` counts it."""

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0

    @classmethod
    def of(cls, usage: Mapping[str, Any]) -> Tokens:
        """What a response's `usage` says; a number that cannot be counts as 0."""
        get = usage.get
        counts = [
            n if type(n := get(name)) is int and 0 <= n <= LARGEST else 0
            for name in _USAGE
        ]
        return cls._make(counts)

    @property
    def tokens(self) -> int:
        """What counts against budgets: everything but what a cache had."""
        return self.input_tokens + self.cache_write_tokens + self.output_tokens


_USAGE = [camel_case(name) for name in Tokens._fields]


@dataclass(slots=True)
class Tally(Counts):
    """What some requests came to.

    Attributes:
        ended: how many have ended, however.
        succeeded: how many of them with a valid answer that reports no failure.
        failures: how many failed, by code.
        retries: attempts after the first.
        corrections: how often an agent was asked to mend its answer.
        verifiable: successes that can be checked for resting on something that was
            seen to run: in the default form, or with a record of the run.
        verified: how many of those do.
        degraded: answers of a small model, or of another than was wanted.
        usage: what the models took, as far as routes tell.
        without_usage: requests whose usage is unknown.
        durations: from the question to the end.
        waits: from the question to the moment at which an agent began; requests that
            no agent began have none.
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
    durations: Histogram = field(default_factory=Histogram)
    waits: Histogram = field(default_factory=Histogram)

    @property
    def success_rate(self) -> float | None:
        """The share that succeeded, from 0 to 1; None if nothing has ended."""
        return self.succeeded / self.ended if self.ended else None

    @property
    def verified_share(self) -> float | None:
        """The share of `verified` in `verifiable`, from 0 to 1; None without any."""
        return self.verified / self.verifiable if self.verifiable else None

    def duration_ms(self, share: float) -> float | None:
        """A percentile of the durations; see `Histogram.quantile_ms`."""
        return self.durations.quantile_ms(share)

    def wait_ms(self, share: float) -> float | None:
        """A percentile of the waits; see `Histogram.quantile_ms`."""
        return self.waits.quantile_ms(share)

    def figures(self) -> dict[str, Any]:
        """The counts, and shares and percentiles in place of histograms, as JSON."""
        data = self.to_data()
        del data["durations"], data["waits"]
        return {
            **data,
            "successRate": self.success_rate,
            "verifiedShare": self.verified_share,
            "durationMs": _percentiles(self.durations),
            "waitMs": _percentiles(self.waits),
        }


def _percentiles(times: Histogram) -> dict[str, float | None]:
    found = {"p50": times.quantile_ms(0.5), "p95": times.quantile_ms(0.95)}
    return {name: ms and round(ms, 1) for name, ms in found.items()}


class Cell(NamedTuple):
    """The requests of a day, an agent, a route and a model that have ended.

    `day` is `2026-11-27`, in the local time zone. `model` is empty where it is unknown;
    `agent` and `route` too, in what an earlier hostbridge has noted.
    """

    day: str
    agent: str
    route: str
    model: str
    tally: Tally

    def to_data(self) -> dict[str, Any]:
        """As JSON; see `Metrics.to_data`."""
        data = self._asdict()
        del data["tally"]
        return data | self.tally.to_data()


@dataclass(slots=True)
class FlowCell(Counts):
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
    durations: Histogram = field(default_factory=Histogram)
    agents: int = 0
    tokens: int = 0


@dataclass(slots=True)
class TaskCell(Counts):
    """What happened to tasks on a day. `passed` and `failed` are validations."""

    day: str
    created: int = 0
    closed: int = 0
    passed: int = 0
    failed: int = 0
    escalated: int = 0
