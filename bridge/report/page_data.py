"""The data in the page of a report: metrics in columns, within a size. Pure.

A project may have any number of agents, models and days, and names may be of any
length. Here they are bounded: the names with most requests are shown, the rest is
summed up under one number, and the page says so. Nothing is lost from
the totals but days before the newest `DAYS`, which the page says, too.

    {"project": "/home/u/app", "today": "2026-11-27",
     "since": 1795300000000, "until": 1795904800000,
     "base": 1.05, "days": ["2026-11-26", "2026-11-27"],
     "names": {"agent": ["Explore"], "route": ["host"], "model": ["sonnet"],
               "code": ["timeout"], "flow": [], "status": []},
     "others": [], "leftOut": {"days": 0, "ended": 0},
     "meanings": ["the deadline passed"],
     "cells": {"day": [0, 1], "agent": [0, 0], …, "ended": [2, 1], …,
               "failures": [[0, 1], []], "durations": [[185, 1, 54, 1], [200, 1]], …},
     "flows": {"day": [], …}, "tasks": {"day": [], …}}

The columns of a table are equally long. A day and a name stand as their number; the
number after the last name stands for the others. `failures` and `ended` of flows hold
pairs of a number and a count. `durations` and `waits` hold pairs, too: how much further
the next bucket is, from 0, and its count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bridge.metrics.lines import OTHERS
from bridge.protocol.failure_codes import MEANINGS

Cells = list[dict[str, Any]]

DAYS = 400
NAME_CHARS = 120
# How many names are shown, and how many buckets become one, until it fits.
_STEPS = ((40, 1), (20, 1), (10, 2), (5, 4), (1, 8), (0, 16))
_COUNTS = ("ended", "succeeded", "retries", "corrections", "verifiable", "verified",
           "degraded", "withoutUsage")  # fmt: skip
_TOKENS = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
# By any text: the journal may hold codes that are none of ours.
_MEANINGS = {str(code): meaning for code, meaning in MEANINGS.items()}
_OF_TASKS = ("created", "closed", "passed", "failed", "escalated")


class _Names(NamedTuple):
    """The names of a column that are shown, and their numbers."""

    kept: dict[str, int]
    has_others: bool

    def number(self, name: str) -> int:
        return self.kept.get(name, len(self.kept))

    def shown(self) -> list[str]:
        return [_cut(name) for name in self.kept]


def page_data(metrics: Mapping[str, Any], today: str, most_bytes: int) -> str:
    """The JSON text for the page of `Metrics.to_data`, of at most so many bytes.

    `today` is the day on which the time of the metrics ends, as `2026-11-27`. Summed up
    as far as can be, it takes 200 kB or less: `most_bytes` must allow that.
    """
    text = ""
    for kept, merged in _STEPS:
        text = script_json(_told(metrics, today, kept, merged))
        if len(text) <= most_bytes:
            break
    return text


def script_json(value: Any) -> str:
    """ASCII JSON that ends no script element and begins no comment in one."""
    text = json.dumps(value, separators=(",", ":"))
    return text.translate({ord(char): f"\\u{ord(char):04x}" for char in "<>&"})


def _told(
    metrics: Mapping[str, Any], today: str, kept: int, merged: int
) -> dict[str, Any]:
    parts = metrics["cells"], metrics["flows"], metrics["tasks"]
    all_days = sorted({each["day"] for part in parts for each in part})
    days = {day: number for number, day in enumerate(all_days[-DAYS:])}
    cells, flows, tasks = (
        [each for each in part if each["day"] in days] for part in parts
    )
    names = {
        **{key: _most(cells, key, kept) for key in ("agent", "route", "model")},
        "code": _most_codes(cells, kept),
        "flow": _most(
            [{**flow, "ended": sum(flow["ended"].values())} for flow in flows],
            "name",
            kept,
        ),
        "status": _most_codes(flows, kept, "ended"),
    }
    left_out = sum(each["ended"] for each in metrics["cells"]) - sum(
        each["ended"] for each in cells
    )
    return {
        "project": _cut(metrics["project"]),
        "today": today,
        "since": metrics["since"],
        "until": metrics["until"],
        "base": metrics["base"] ** merged,
        "days": list(days),
        "names": {key: found.shown() for key, found in names.items()},
        "others": [key for key, found in names.items() if found.has_others],
        "leftOut": {"days": len(all_days) - len(days), "ended": left_out},
        "meanings": [_MEANINGS.get(code, "") for code in names["code"].kept],
        "cells": _cell_columns(cells, days, names, merged),
        "flows": _flow_columns(flows, days, names, merged),
        "tasks": {
            "day": [days[task["day"]] for task in tasks],
            **{key: [task[key] for task in tasks] for key in _OF_TASKS},
        },
    }


def _most(cells: Cells, key: str, kept: int) -> _Names:
    found: Counter[str] = Counter()
    for cell in cells:
        found[cell[key]] += cell["ended"]
    return _numbered(found, kept)


def _most_codes(cells: Cells, kept: int, key: str = "failures") -> _Names:
    found: Counter[str] = Counter()
    for cell in cells:
        found.update(cell[key])
    return _numbered(found, kept)


def _numbered(found: Counter[str], kept: int) -> _Names:
    names = sorted(found.keys() - {OTHERS}, key=lambda name: (-found[name], name))
    numbers = {name: number for number, name in enumerate(names[:kept])}
    return _Names(numbers, len(found) > len(numbers))


def _cell_columns(
    cells: Cells, days: Mapping[str, int], names: Mapping[str, _Names], merged: int
) -> dict[str, list[Any]]:
    """The table of requests: cells that became alike are added."""
    keys = ("agent", "route", "model")
    rows: dict[tuple[int, ...], _Row] = {}
    for cell in cells:
        key = (days[cell["day"]], *(names[name].number(cell[name]) for name in keys))
        rows.setdefault(key, _Row()).add_cell(cell, names["code"], merged)
    counts = (*_COUNTS, *_TOKENS)
    return {
        **_keys(("day", *keys), rows),
        **{name: [row.counts[name] for row in rows.values()] for name in counts},
        "failures": [_pairs(row.failures) for row in rows.values()],
        "durations": [_gaps(row.durations) for row in rows.values()],
        "waits": [_gaps(row.waits) for row in rows.values()],
    }


class _Row:
    """What some cells come to."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: Counter[int] = Counter()
        self.durations: Counter[int] = Counter()
        self.waits: Counter[int] = Counter()

    def add_cell(self, cell: Mapping[str, Any], codes: _Names, merged: int) -> None:
        for name in _COUNTS:
            self.counts[name] += cell[name]
        for name in _TOKENS:
            self.counts[name] += cell["usage"][name]
        for code, count in cell["failures"].items():
            self.failures[codes.number(code)] += count
        _add(self.durations, cell["durations"], merged)
        _add(self.waits, cell["waits"], merged)


def _flow_columns(
    flows: Cells, days: Mapping[str, int], names: Mapping[str, _Names], merged: int
) -> dict[str, list[Any]]:
    """The table of runs, of which it is the same."""
    rows: dict[tuple[int, ...], tuple[Counter[str], Counter[int], Counter[int]]] = {}
    for flow in flows:
        key = (days[flow["day"]], names["flow"].number(flow["name"]))
        row = rows.setdefault(key, (Counter(), Counter(), Counter()))
        row[0].update(agents=flow["agents"], tokens=flow["tokens"])
        for status, count in flow["ended"].items():
            row[1][names["status"].number(status)] += count
        _add(row[2], flow["durations"], merged)
    return {
        **_keys(("day", "flow"), rows),
        "agents": [row[0]["agents"] for row in rows.values()],
        "tokens": [row[0]["tokens"] for row in rows.values()],
        "ended": [_pairs(row[1]) for row in rows.values()],
        "durations": [_gaps(row[2]) for row in rows.values()],
    }


def _keys(
    names: Iterable[str], rows: Iterable[tuple[int, ...]]
) -> dict[str, list[Any]]:
    return {name: [key[at] for key in rows] for at, name in enumerate(names)}


def _add(times: Counter[int], pairs: Iterable[tuple[int, int]], merged: int) -> None:
    for bucket, count in pairs:
        times[bucket // merged] += count


def _pairs(counts: Mapping[int, int]) -> list[int]:
    return [part for pair in sorted(counts.items()) for part in pair]


def _gaps(times: Mapping[int, int]) -> list[int]:
    pairs, before = [], 0
    for bucket in sorted(times):
        pairs += [bucket - before, times[bucket]]
        before = bucket
    return pairs


def _cut(name: str) -> str:
    return name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS - 1]}…"
