"""Measure what the small model makes of the built-in agents and the examples.

scripts/bench_agents.py                 all of it; minutes
scripts/bench_agents.py choice          one part: valid, choice
scripts/bench_agents.py --quick         a smoke test: few rounds
scripts/bench_agents.py order           other orders of the default examples
scripts/bench_agents.py choice --verbose    each prompt and what was called

valid: replies at temperature 0.8 that satisfy tool or answer, for every set of tools of
the built-in agents; one half first calls, one half answers. choice: the first call on
the prompts of scripts/bench/prompts.yaml, with the default examples beside none. order:
the same on other prompts, scripts/bench/tuning.yaml, by which the order is chosen.

Needs the extra: pip install 'hostbridge[local]'. BRIDGE_LOCAL_MODEL names another
model.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bench.agents import Bench
from bench.table import Row, missed, show

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = ("choice", "valid")
# Not a goal, and slow: only when named.
ASKED_FOR = ("order",)
ORDERS = 16


def main() -> int:
    """Run the benchmark; exit 1 when a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="*", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    parser.add_argument(
        "--runs", type=int, default=200, help="replies checked a set (200)"
    )
    parser.add_argument("--verbose", action="store_true", help="print each call")
    chosen = parser.parse_args()
    if unknown := set(chosen.part) - {*PARTS, *ASKED_FOR}:
        parser.error(f"no part {', '.join(unknown)}")
    bench = Bench(verbose=chosen.verbose)
    parts: dict[str, Callable[[], list[Row]]] = {
        "choice": lambda: bench.choice(8 if chosen.quick else None),
        "order": lambda: bench.order(2 if chosen.quick else ORDERS),
        "valid": lambda: bench.valid(4 if chosen.quick else chosen.runs),
    }
    rows: list[Row] = []
    for name in chosen.part or PARTS:
        found = parts[name]()
        show(f"{name}, {bench.found.name}", found)
        rows += found
    return 0 if chosen.quick else min(1, missed(rows))


if __name__ == "__main__":
    raise SystemExit(main())
