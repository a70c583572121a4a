"""Lengths of time as people type them."""

from __future__ import annotations

import pytest

from bridge.cli.durations import parse_duration

TIMES = {
    "90": 90, "0.5": 0.5, ".5": 0.5, "0": 0, "90s": 90, "5m": 300, "2h": 7200,
    "1h30m": 5400, "1.5h": 5400, "1d": 86_400, "1d2h3m4s": 93_784, "5M": 300,
}  # fmt: skip
NONE = (
    "", "s", "m5", "5x", "-1", "+1", "nan", "inf", "1e9", "1m1h", "1m1m", "5 m", "5m ",
    "0x10", "1_000", "٣", "1h-5m", "90s\n",
)  # fmt: skip


@pytest.mark.parametrize("text", TIMES)
def test_a_time_in_seconds(text):
    assert parse_duration(text) == TIMES[text]


@pytest.mark.parametrize("text", NONE)
def test_error_no_time(text):
    assert parse_duration(text) is None


def test_prune_by_age(project):
    """A day is not the only unit; the two ways to say it exclude each other."""
    project.bridge.cancel(project.submit())

    kept = project.run("prune", "--older-than", "1h30m", "--json")
    gone = project.run("prune", "--older-than", "0s", "--json")

    assert (kept.json["requests"], gone.json["requests"]) == (0, 1)
    project.run("prune", "--older-than", "1d", "--days", "1").fails(
        2, "prune: --days: cannot go with --older-than; see `hostbridge prune --help`"
    )
