"""Measure how well the small model uses the built-in agents and the default examples.

scripts/bench_agents.py                     everything; takes minutes
scripts/bench_agents.py choice              one part: valid, choice
scripts/bench_agents.py --quick             a smoke test with few rounds
scripts/bench_agents.py order               other orders of the default examples
scripts/bench_agents.py choice --verbose    print each prompt and call

valid: how many replies at temperature 0.8 are no valid call or answer, for each set of
tools of the built-in agents; half of them are first calls, half are answers. choice:
how often the first call is right on the prompts of scripts/bench/prompts.yaml, with the
default examples and without. order: the same on other prompts, those of
scripts/bench/tuning.yaml, by which the order of the examples is chosen.

Needs the extra `local`. BRIDGE_LOCAL_MODEL names another
model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.agents import Bench
from bench.script import exit_code, option_parser
from bench.table import Row, show

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = ("choice", "valid")
# Without a goal, and slow: only if it is named.
ON_REQUEST = ("order",)
ORDERS = 16


def main() -> int:
    """Run the benchmark; the exit code is 1 if a goal is missed."""
    parser = option_parser(__doc__)
    parser.add_argument("part", nargs="*", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument(
        "--runs", type=int, default=200, help="replies to check for each set (200)"
    )
    parser.add_argument("--verbose", action="store_true", help="print each call")
    chosen = parser.parse_args()
    if unknown := set(chosen.part) - {*PARTS, *ON_REQUEST}:
        parser.error(f"no part {', '.join(unknown)}")
    bench = Bench(verbose=chosen.verbose)
    parts: dict[str, Callable[[], list[Row]]] = {
        "choice": lambda: bench.choice(8 if chosen.quick else None),
        "order": lambda: bench.order(2 if chosen.quick else ORDERS),
        "valid": lambda: bench.valid(4 if chosen.quick else chosen.runs),
    }
    rows: list[Row] = []
    for name in chosen.part or PARTS:
        part = parts[name]()
        show(f"{name}, {bench.model.name}", part)
        rows += part
    return exit_code(rows, quick=chosen.quick)


if __name__ == "__main__":
    raise SystemExit(main())
