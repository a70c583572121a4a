"""What the page is told: bounded, and with nothing lost from the totals."""

import json
from datetime import timedelta

import pytest
import reportworld

from bridge.metrics.counts import Cell, Histogram, Tally, TaskCell
from bridge.metrics.lines import OTHERS
from bridge.metrics.metrics import Metrics
from bridge.report.page_data import DAYS, NAME_CHARS, page_data, script_json

pytestmark = pytest.mark.slow

PLENTY = 10_000_000
PLAIN = ("ended", "succeeded", "retries", "corrections", "verified")


def told(metrics, most_bytes=PLENTY):
    text = page_data(metrics.to_data(), reportworld.TODAY.isoformat(), most_bytes)
    return json.loads(text)


def counts_of(histograms):
    """How many times are counted in lists of pairs."""
    return sum(sum(pairs[1::2]) for pairs in histograms)


def sums(data):
    """What the cells of a page come to."""
    cells = data["cells"]
    return {
        **{name: sum(cells[name]) for name in (*PLAIN, "inputTokens")},
        "failed": counts_of(cells["failures"]),
        "durations": counts_of(cells["durations"]),
        "waits": counts_of(cells["waits"]),
    }


def expected(metrics):
    tally = metrics.total
    return {
        **{name: getattr(tally, name) for name in PLAIN},
        "inputTokens": tally.usage.input_tokens,
        "failed": sum(tally.failures.values()),
        "durations": sum(tally.durations.values()),
        "waits": sum(tally.waits.values()),
    }


def test_rare_names_are_summed_up():
    """A program that makes up a name for each request makes the page no larger."""
    names = tuple(f"agent-{number}" for number in range(300))
    routes = tuple(("host", f"model-{number}") for number in range(300))
    metrics = reportworld.metrics(agents=names, routes=routes)

    data = told(metrics)

    assert len(data["names"]["model"]) == 40
    assert data["others"] == ["model"]
    assert sums(data) == expected(metrics)


def test_what_the_metrics_have_summed_up_stays_so():
    """Under their name for it, it could be taken for an agent's."""
    cells = tuple(
        Cell("2026-11-27", agent, "host", "", Tally(ended=ended))
        for agent, ended in (("Explore", 1), (OTHERS, 5))
    )

    data = told(Metrics("p", 0, reportworld.NOON_MS, 0, 6, cells, (), ()))

    assert (data["names"]["agent"], data["others"]) == (["Explore"], ["agent"])
    assert data["cells"]["agent"] == [0, 1]


def test_what_is_too_large_is_told_more_coarsely():
    metrics = reportworld.metrics(days=90, per_day=200)
    fine = told(metrics)

    coarse = told(metrics, len(script_json(fine)) // 2)

    assert coarse["base"] > fine["base"]
    assert len(script_json(coarse)) <= len(script_json(fine)) // 2
    assert sums(coarse) == sums(fine) == expected(metrics)


def test_very_old_days_are_left_out_and_counted():
    days = [
        f"{1990 + at // 365}-{at % 12 + 1:02}-{at % 28 + 1:02}" for at in range(9000)
    ]
    days = sorted(set(days))
    cells = tuple(Cell(day, "a", "host", "m", Tally(ended=2)) for day in days)
    tasks = (TaskCell("1970-01-01", created=1),)
    metrics = Metrics("p", 0, reportworld.NOON_MS, 0, 9, cells, (), tasks)

    data = told(metrics)

    assert data["days"] == days[-DAYS:]
    gone = len(days) - DAYS
    assert data["leftOut"] == {"days": gone + 1, "ended": 2 * gone}


def test_names_are_cut_and_stay_apart():
    """Two that begin alike are two rows of the table."""
    long = "x" * 10_000
    cells = tuple(
        Cell("2026-11-27", name, "host", "", Tally(ended=1))
        for name in (f"{long}1", f"{long}2")
    )
    metrics = Metrics(long, 0, reportworld.NOON_MS, 0, 2, cells, (), ())

    data = told(metrics)

    assert [len(name) for name in data["names"]["agent"]] == [NAME_CHARS, NAME_CHARS]
    assert data["cells"]["agent"] == [0, 1]
    assert len(data["project"]) == NAME_CHARS


def test_the_json_cannot_end_its_element():
    """It is written into a script element, in which only `</script` has a meaning."""
    value = ["</script>", "<!--", "]]>", "&amp;", "\u2028", "\ud800", "é"]

    text = script_json(value)

    assert text.isascii()
    assert not set(text) & set("<>&")
    assert json.loads(text) == value


def test_however_much_there_is_it_can_be_told():
    """Each day with times of every length, and with names that nobody can foresee."""
    every = Histogram(dict.fromkeys(range(0, 500, 8), 56))
    cells = tuple(
        Cell(
            (reportworld.TODAY - timedelta(days=back)).isoformat(),
            f"agent {back}-{part}",
            f"route {back}-{part}",
            f"model {back}-{part}",
            Tally(ended=3_500, failures={f"c{back}": 9}, durations=every, waits=every),
        )
        for back in reversed(range(DAYS))
        for part in range(3)
    )
    metrics = Metrics("p", 0, reportworld.NOON_MS, 0, 9, cells, (), ())

    data = told(metrics, 200_000)

    assert len(script_json(data)) <= 200_000
    assert sums(data) == expected(metrics)
