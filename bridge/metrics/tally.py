"""What some requests came to: counts, times in buckets, tokens. They add up. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bridge.metrics.histogram import Histogram, add_to, pairs_of, quantile_ms


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


def _percentiles(times: Histogram) -> dict[str, float | None]:
    found = {"p50": quantile_ms(times, 0.5), "p95": quantile_ms(times, 0.95)}
    return {name: ms and round(ms, 1) for name, ms in found.items()}
