"""Measure the page of `hostbridge report` in Chromium, for 100,000 requests.

    scripts/bench_report.py             a minute or two
    scripts/bench_report.py --quick     a smoke test

`usual` is a project with a few agents and models; `hostile` has a thousand of each,
with names as long as they may be. Both have 100,000 requests that have ended in 90
days, each with a line of the journal. The floor is the page of a project without any,
in the same browser.

interactive   from the beginning of the navigation until the page obeys its reader
choice        from a choice of another period until everything is drawn anew
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from bench.script import exit_code, option_parser, scratch
from bench.table import Row, show
from bench.timing import Series
from browser import Browser

from bridge.config import Settings
from bridge.metrics.reader import read
from bridge.report import page as report
from bridge.store import journal
from bridge.store.location import locate, open_state
from bridge.store.store import Store

REQUESTS = 100_000
DAYS = 90
MOST_BYTES = 1_000_000
MOST_MS = 1_000
FEW = ("general-purpose", "Explore", "validator-logic", "developer", "qa-reviewer")
MANY = tuple(f"<b>{number}" + '"&\u202e' * 40 for number in range(1000))
INTERACTIVE = "performance.getEntriesByName('interactive')[0].startTime"
LOADED = "performance.getEntriesByType('navigation')[0].domComplete"
CHOICE = """(() => {
  const period = document.querySelector("[name=period]");
  const began = performance.now();
  period.value = period.value === "all" ? "30" : "all";
  period.dispatchEvent(new Event("change", {bubbles: true}));
  document.body.offsetHeight;
  return performance.now() - began;
})()"""


def main() -> int:
    """Run the benchmark; the exit code is 1 if a goal is missed."""
    parser = option_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="loads of each (15)")
    parser.add_argument("--chromium", default="chromium", help="the browser's program")
    chosen = parser.parse_args()
    rounds, requests = (2, 500) if chosen.quick else (chosen.rounds, REQUESTS)
    with scratch() as root:
        pages = {
            "empty": page(root, "empty", 0, FEW),
            "usual": page(root, "usual", requests, FEW),
            "hostile": page(root, "hostile", requests, MANY),
        }
        with Browser(chosen.chromium, root / "profile") as browser:
            found = measure(browser, pages, rounds)
        rows = compare(found, pages)
    show(f"the page of {requests:,} requests, loaded {rounds} times", rows)
    return exit_code(rows, quick=chosen.quick)


def page(root: Path, name: str, requests: int, names: tuple[str, ...]) -> Path:
    """The page of a project with so many requests."""
    folder = root / name
    folder.mkdir()
    store = Store(locate(Settings(home=root / "home"), folder))
    begins_ms = store.now_ms() - DAYS * 86_400_000
    dice = random.Random(15)  # noqa: S311 - no secret
    with open_state(store.place):
        pass
    lines = (
        line(dice, begins_ms + number * DAYS * 86_400_000 // requests, number, names)
        for number in range(requests)
    )
    (store.place.state / journal.NAME).write_text("".join(lines))
    file = root / f"{name}.html"
    file.write_text(report.page(read(store, since_ms=0).to_data()))
    return file


def line(dice: random.Random, at_ms: int, number: int, names: tuple[str, ...]) -> str:
    """A line of the journal, about the end of a request."""
    fails = dice.random() < 0.1  # noqa: PLR2004 - one in ten
    facts = {
        "at": at_ms,
        "event": "failed" if fails else "completed",
        "requestId": f"1k0t3fvv{number:06d}-n-hj92wn",
        **({"code": "no_json"} if fails else {"verified": dice.random() < 0.7}),  # noqa: PLR2004
        "agent": dice.choice(names),
        "route": dice.choice(("host", "host", "claude", "local")),
        "model": dice.choice(names),
        "durationMs": int(dice.lognormvariate(10, 1.2)),
        "waitMs": int(dice.lognormvariate(7, 1.2)),
        "usage": {"inputTokens": dice.randrange(20_000), "outputTokens": 700},
    }
    return json.dumps(facts, separators=(",", ":")) + "\n"


def measure(
    browser: Browser, pages: dict[str, Path], rounds: int
) -> dict[str, dict[str, Series]]:
    """Times in milliseconds, by page and by what is measured; the pages take turns."""
    found = {name: {"interactive": Series(), "choice": Series()} for name in pages}
    browser.show()
    for _ in range(rounds):
        for name, file in pages.items():
            browser.open(file)
            until = LOADED if name == "empty" else INTERACTIVE
            found[name]["interactive"].values.append(browser.run(until))
            if name != "empty":
                found[name]["choice"].values.append(browser.run(CHOICE))
    return found


def compare(found: dict[str, dict[str, Series]], pages: dict[str, Path]) -> list[Row]:
    """The rows of the table."""
    rows = []
    floor = found["empty"]["interactive"]
    empty = Series([float(pages["empty"].stat().st_size)])
    for name in ("usual", "hostile"):
        size = Series([float(pages[name].stat().st_size)])
        rows += [
            Row(f"{name}: size", size, empty, MOST_BYTES, "value", "bytes"),
            Row(
                f"{name}: interactive",
                found[name]["interactive"],
                floor,
                MOST_MS,
                "value",
            ),
            Row(f"{name}: choice", found[name]["choice"]),
        ]
    return rows


if __name__ == "__main__":
    sys.exit(main())
