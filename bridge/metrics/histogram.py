"""Times in buckets that add up: which percentile lies where, within 2.5 %. Pure.

Bucket `b` counts the times from 1.05^b up to 1.05^(b+1) milliseconds, and stands for
the middle of the two. Less than a millisecond counts as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import repeat
from math import ceil, log
from operator import mul

BASE = 1.05
# What a percentile may be off by: half a bucket.
PRECISION = BASE**0.5 - 1
_PER_BUCKET = 1 / log(BASE)

# How many times lie in each bucket; one without any is left out.
Histogram = dict[int, int]


def histogram_of(times_ms: Iterable[int]) -> Histogram:
    """How many of these times, of at least a millisecond, lie in each bucket."""
    return Counter(map(int, map(mul, map(log, times_ms), repeat(_PER_BUCKET))))


def add_to(histogram: Histogram, other: Mapping[int, int]) -> None:
    """Add the counts of another."""
    for bucket, count in other.items():
        histogram[bucket] = histogram.get(bucket, 0) + count


def quantile_ms(histogram: Mapping[int, int], share: float) -> float | None:
    """The least time, in milliseconds, that this share of all times does not exceed.

    `share` is 0.5 for the median; None without any time.
    """
    rank = max(1, ceil(share * sum(histogram.values())))
    for bucket in sorted(histogram):
        rank -= histogram[bucket]
        if rank <= 0:
            return float(BASE ** (bucket + 0.5))
    return None


def pairs_of(histogram: Mapping[int, int]) -> list[list[int]]:
    """It as JSON: bucket and count, by bucket."""
    return [[bucket, histogram[bucket]] for bucket in sorted(histogram)]
