"""Cells add up: in whatever order, in whatever groups, percentiles included."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import InvalidRequest
from bridge.metrics.counts import (
    PRECISION,
    Cell,
    FlowCell,
    Histogram,
    Tally,
    TaskCell,
    Tokens,
)
from bridge.metrics.metrics import DIMENSIONS, Metrics, dimensions_of, grouped

TIMES = st.lists(st.integers(1, 10**9), min_size=1)
COUNTS = st.integers(0, 50)
HISTOGRAMS = st.dictionaries(st.integers(0, 400), st.integers(1, 9)).map(Histogram)
FIGURES = (
    "ended", "succeeded", "retries", "corrections", "verifiable", "verified",
    "degraded", "without_usage",
)  # fmt: skip
TALLIES = st.builds(
    Tally,
    failures=st.dictionaries(st.sampled_from(["timeout", "no_json"]), COUNTS),
    usage=st.builds(Tokens, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS),
    **dict.fromkeys(FIGURES, COUNTS),
    **dict.fromkeys(("durations", "waits"), HISTOGRAMS),
)
NAMES = st.sampled_from(["a", "b"])
CELLS = st.lists(st.builds(Cell, NAMES, NAMES, NAMES, NAMES, TALLIES), max_size=8)


def exact(times: list[int], share: float) -> int:
    """The nearest rank."""
    return sorted(times)[ceil(share * len(times)) - 1]


@given(TIMES, st.sampled_from([0.05, 0.5, 0.95, 1.0]))
def test_a_percentile_is_within_the_promised_error(times, share):
    found = Histogram.of(times).quantile_ms(share)

    assert found == pytest.approx(exact(times, share), rel=PRECISION + 1e-9)
    assert PRECISION < 0.025


@given(TIMES, TIMES)
def test_percentiles_of_added_times_are_those_of_all(one, other):
    both = Tally(durations=Histogram.of(one))
    both.add(Tally(durations=Histogram.of(other)))

    assert both.durations == Histogram.of(one + other)


def test_without_a_time_there_is_no_percentile():
    assert Histogram().quantile_ms(0.5) is None


@given(CELLS, st.permutations(DIMENSIONS), st.integers(0, 4))
def test_groups_of_groups_are_the_groups_of_all(cells, order, kept):
    """By day and agent, then by agent: the same as by agent at once."""
    fine = grouped(cells, order)
    again = [
        Cell(**dict(zip(order, names, strict=True)), tally=tally)
        for names, tally in fine.items()
    ]

    assert grouped(again, order[:kept]) == grouped(cells, order[:kept])


def test_adding_changes_no_cell():
    """Metrics are grouped more than once."""
    cells = [Cell("d", "a", "host", "", Tally(ended=1, failures={"timeout": 1}))] * 2

    for _ in range(2):
        assert grouped(cells, ("agent",))["a",].failures == {"timeout": 2}


def test_all_of_it_as_json():
    tally = Tally(
        ended=2, succeeded=1, failures={"timeout": 1}, retries=3, corrections=1,
        verifiable=1, verified=1, degraded=1, usage=Tokens(900, 10, 20, 70, 3),
        without_usage=1, durations=Histogram({185: 1, 239: 1}),
        waits=Histogram({141: 1}),
    )  # fmt: skip
    metrics = Metrics(
        project="/app", since_ms=1, until_ms=9, begins_ms=None, events=4,
        cells=(Cell("2026-11-27", "Explore", "host", "sonnet", tally),),
        flows=(
            FlowCell("2026-11-27", "f", {"completed": 1}, Histogram({240: 1}), 4, 5400),
        ),
        tasks=(TaskCell("2026-11-27", 2, 1, 1, 0, 3),), by=("agent",),
    )  # fmt: skip
    counts = {
        "ended": 2, "succeeded": 1, "failures": {"timeout": 1}, "retries": 3,
        "corrections": 1, "verifiable": 1, "verified": 1, "degraded": 1,
        "usage": {"inputTokens": 900, "cacheReadTokens": 10, "cacheWriteTokens": 20,
                  "outputTokens": 70, "requests": 3},
        "withoutUsage": 1,
    }  # fmt: skip
    figures = {
        **counts, "successRate": 0.5, "verifiedShare": 1.0,
        "durationMs": {"p50": 8523.4, "p95": 118805.7},
        "waitMs": {"p50": 996.1, "p95": 996.1},
    }  # fmt: skip

    assert metrics.to_data() == {
        "schemaVersion": 1, "project": "/app", "since": 1, "until": 9, "begins": None,
        "events": 4, "base": 1.05,
        "cells": [{"day": "2026-11-27", "agent": "Explore", "route": "host",
                   "model": "sonnet", **counts,
                   "durations": [[185, 1], [239, 1]], "waits": [[141, 1]]}],
        "flows": [{"day": "2026-11-27", "name": "f", "ended": {"completed": 1},
                   "durations": [[240, 1]], "agents": 4, "tokens": 5400}],
        "tasks": [{"day": "2026-11-27", "created": 2, "closed": 1, "passed": 1,
                   "failed": 0, "escalated": 3}],
        "by": ["agent"], "groups": [{"agent": "Explore", **figures}], "total": figures,
    }  # fmt: skip


def test_by_day_groups_are_in_order_of_time_otherwise_the_largest_is_first():
    cells = tuple(
        Cell(day, agent, "host", "", Tally(ended=ended))
        for day, agent, ended in [("2", "x", 9), ("1", "y", 1), ("3", "y", 2)]
    )
    metrics = Metrics("/app", 0, 9, 0, 3, cells, (), (), by=("day",))
    by_agent = Metrics("/app", 0, 9, 0, 3, cells, (), (), by=("agent",))

    assert [*metrics.groups] == [("1",), ("2",), ("3",)]
    assert [*by_agent.groups] == [("x",), ("y",)]


def test_what_to_group_by():
    assert dimensions_of("day") == ("day",)
    assert dimensions_of(iter(["agent", "day", "agent"])) == ("agent", "day")
    assert dimensions_of(()) == ()


@pytest.mark.parametrize("by", ["week", ["day", "week"], 7])
def test_error_nothing_to_group_by(by):
    with pytest.raises(InvalidRequest, match="expected day, agent, route or model"):
        dimensions_of(by)
