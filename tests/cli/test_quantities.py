"""Shares, times and numbers as people read and type them."""

import pytest

from bridge.cli.screen.durations import parse_duration
from bridge.cli.screen.quantities import number, percent, took


def test_figures_for_people():
    """What is not all is not 100 %; no unit has a thousand of the one below."""
    shares = [None, 0.0, 0.001, 0.5, 0.999, 1.0]
    times = [None, 1.02, 340.2, 996, 1234, 12_345, 59_900, 204_000, 5_000_000]
    counts = [0, 999, 1234, 9960, 54_321, 1_200_000, 2_000_000_000]

    assert [*map(percent, shares)] == ["-", "0 %", "1 %", "50 %", "99 %", "100 %"]
    assert [*map(took, times)] == [
        "-", "1 ms", "340 ms", "1.0 s", "1.2 s", "12 s", "1.0 min", "3.4 min", "1.4 h",
    ]  # fmt: skip
    assert [*map(number, counts)] == [
        "0", "999", "1.2 k", "10 k", "54 k", "1.2 M", "2.0 G"
    ]  # fmt: skip


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
