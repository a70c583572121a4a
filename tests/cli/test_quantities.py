"""Shares, times and numbers as people read them."""

from __future__ import annotations

from bridge.cli.quantities import number, percent, took


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
