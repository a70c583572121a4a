"""Metrics of projects that were never there, and how a page of them is read."""

import math
import random
from datetime import date, timedelta
from typing import Any

from bridge.metrics.counts import Cell, FlowCell, Histogram, Tally, TaskCell, Tokens
from bridge.metrics.metrics import Metrics

TODAY = date(2026, 11, 27)
NOON_MS = 1_795_780_800_000
AGENTS = (
    "general-purpose", "Explore", "validator-syntax", "validator-tests", "researcher",
    "developer", "qa-reviewer", "flow-designer", "merge",
)  # fmt: skip
ROUTES = (
    ("host", "sonnet"), ("host", "opus"), ("host", ""), ("claude", "haiku"),
    ("local", "SmolLM2-135M-Instruct.gguf"), ("endpoint", "openai:qwen3"),
)  # fmt: skip
CODES = ("timeout", "schema_mismatch", "no_host", "agent_failed", "declined", "quota")
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>alert(2)</script>",
    '"><svg onload=alert(3)>',
    "javascript:alert(4)",
    "'; alert(5); //",
    "\u202egpj.exe\u2066 \u200bhidden\u2028line\x07\x1b[31m",
    "👩\u200d💻 🦜 émile 漢字 \U0001f9ff",
    "x" * 10_000,
    "&lt;b&gt;&amp;",
    "{{7*7}} ${alert(6)} @data@",
    "__proto__",
    "constructor",
    "",
    " ",
    "\ud800 alone",
)

# What a table shows, as lists of texts; of one below a heading.
ROWS = """(title) => {
  const card = [...document.querySelectorAll('.card')]
    .filter((card) => card.querySelector('h3')?.textContent === title)
    .find((card) => card.querySelector('table'));
  return [...card.querySelectorAll('tr')].map((row) =>
    [...row.children].map((cell) => cell.textContent));
}"""
TILES = """Object.fromEntries([...document.querySelectorAll('.tile')].map((tile) =>
  [tile.querySelector('dt').textContent,
   [...tile.querySelectorAll('dd p')].map((p) => p.textContent)]))"""


def metrics(
    *,
    days: int = 45,
    per_day: int = 60,
    agents: tuple[str, ...] = AGENTS,
    routes: tuple[tuple[str, str], ...] = ROUTES,
    codes: tuple[str, ...] = CODES,
    flows: tuple[str, ...] = ("review-change", "scan-and-fix", "coordinator"),
    project: str = "/home/emma/app",
) -> Metrics:
    """What a lively project might come to; the same for the same arguments."""
    dice = random.Random(15)  # noqa: S311 - no secret
    made = [TODAY - timedelta(days=back) for back in reversed(range(days))]
    cells: dict[tuple[str, str, str, str], Tally] = {}
    for at, day in enumerate(made):
        weekend = day.weekday() >= 5
        for _ in range(dice.randrange(per_day // (6 if weekend else 1) + 1)):
            agent = agents[min(int(dice.expovariate(0.5)), len(agents) - 1)]
            route, model = dice.choice(routes)
            tally = cells.setdefault((day.isoformat(), agent, route, model), Tally())
            tally.add(_request(dice, at / len(made), codes))
    named = [day.isoformat() for day in made]
    return Metrics(
        project=project,
        since_ms=NOON_MS - days * 86_400_000,
        until_ms=NOON_MS,
        begins_ms=NOON_MS - days * 86_400_000,
        events=sum(tally.ended for tally in cells.values()) * 4,
        cells=tuple(Cell(*key, tally) for key, tally in sorted(cells.items())),
        flows=tuple(_flow(dice, day, name) for day in named[::3] for name in flows),
        tasks=tuple(_task(dice, day) for day in named[::2]),
    )


def nothing() -> Metrics:
    """What a new project comes to."""
    return Metrics("/home/emma/new", NOON_MS, NOON_MS, None, 0, (), (), ())


def single() -> Metrics:
    """One request, answered."""
    tally = Tally(
        ended=1,
        succeeded=1,
        usage=Tokens(input_tokens=900, output_tokens=70, requests=3),
        durations=Histogram.of([8_200]),
        waits=Histogram.of([950]),
    )
    cell = Cell(TODAY.isoformat(), "Explore", "host", "sonnet", tally)
    return Metrics("/home/emma/app", NOON_MS, NOON_MS, NOON_MS, 3, (cell,), (), ())


def tally(ended: int, succeeded: int, ms: float, **more: Any) -> Tally:
    """What so many requests come to that took `ms` each."""
    failed = ended - succeeded
    usual: dict[str, Any] = {
        "failures": {"timeout": failed} if failed else {},
        "durations": Histogram.of([ms] * ended),
        "waits": Histogram.of([500] * ended),
        "usage": Tokens(
            input_tokens=1_000 * ended,
            cache_read_tokens=7 * ended,
            output_tokens=10 * ended,
        ),
    }
    return Tally(ended=ended, succeeded=succeeded, **usual | more)


def small() -> Metrics:
    """Two weeks, of which every number can be worked out by hand."""
    cells = (
        Cell("2026-11-14", "Explore", "host", "opus", tally(4, 4, 5_000)),
        Cell("2026-11-25", "Explore", "host", "sonnet", tally(8, 6, 5_000, retries=1)),
        Cell(
            "2026-11-27",
            "developer",
            "local",
            "",
            tally(2, 2, 60_000, corrections=3, verifiable=2, verified=1, degraded=2),
        ),
    )
    flows = (
        FlowCell(
            "2026-11-26", "review", {"completed": 2}, Histogram.of([9_000] * 2), 4, 50
        ),
        FlowCell("2026-11-27", "review", {"failed": 1}, Histogram.of([9_000]), 1, 10),
    )
    tasks = (TaskCell("2026-11-27", created=3, closed=2, passed=2, failed=1),)
    return Metrics("/home/emma/app", 0, NOON_MS, 0, 30, cells, flows, tasks)


def _request(dice: random.Random, progress: float, codes: tuple[str, ...]) -> Tally:
    succeeds = dice.random() < 0.8 + 0.15 * progress
    told = dice.random() < 0.9
    verifiable = succeeds and dice.random() < 0.7
    began = succeeds or dice.random() < 0.6
    took_ms = math.exp(dice.gauss(10.2 - 0.8 * progress, 1.1))
    usage = Tokens(
        input_tokens=dice.randrange(500, 30_000),
        cache_read_tokens=dice.randrange(200_000),
        cache_write_tokens=dice.randrange(20_000),
        output_tokens=dice.randrange(100, 4_000),
        requests=dice.randrange(1, 12),
    )
    return Tally(
        ended=1,
        succeeded=int(succeeds),
        failures={} if succeeds else {dice.choice(codes): 1},
        retries=int(dice.random() < 0.06),
        corrections=int(dice.random() < 0.1),
        verifiable=int(verifiable),
        verified=int(verifiable and dice.random() < 0.75),
        degraded=int(dice.random() < 0.05),
        usage=usage if told else Tokens(),
        without_usage=int(not told),
        durations=Histogram.of([took_ms]),
        waits=Histogram.of([math.exp(dice.gauss(7, 1.2))]) if began else Histogram(),
    )


def _flow(dice: random.Random, day: str, name: str) -> FlowCell:
    ended = {"completed": dice.randrange(1, 6), "failed": dice.randrange(2)}
    return FlowCell(
        day=day,
        name=name,
        ended={status: many for status, many in ended.items() if many},
        durations=Histogram.of([math.exp(dice.gauss(12, 0.8))] * sum(ended.values())),
        agents=dice.randrange(3, 20),
        tokens=dice.randrange(9_000, 400_000),
    )


def _task(dice: random.Random, day: str) -> TaskCell:
    created = dice.randrange(12)
    return TaskCell(
        day=day,
        created=created,
        closed=dice.randrange(created + 1),
        passed=dice.randrange(8),
        failed=dice.randrange(3),
        escalated=dice.randrange(2),
    )
