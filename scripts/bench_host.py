"""Measure what hostbridge costs in the real client, beside the client itself.

The client is the real one; its model is scripted, so this does not measure models.

    scripts/bench_host.py                          everything, about eight minutes
    scripts/bench_host.py calls wakes              some parts
    scripts/bench_host.py crowd --asks 1000
    scripts/bench_host.py --quick                  a smoke test
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench import (
    calls,
    crowd,
    follow_ups,
    forks,
    memory,
    replies,
    story,
    tokens,
    wakes,
)
from bench.script import exit_code, option_parser
from bench.table import show

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.table import Row


PARTS: dict[str, Callable[[Path, argparse.Namespace], list[Row]]] = {
    "calls": lambda root, chosen: calls.measure(root, chosen.rounds),
    "wakes": lambda root, chosen: wakes.measure(root, chosen.rounds),
    "story": lambda root, chosen: story.measure(root, chosen.rounds),
    "tokens": lambda root, _: tokens.measure(root),
    "memory": lambda root, chosen: memory.measure(root, min(chosen.rounds, 5)),
    "follow-ups": lambda root, chosen: follow_ups.measure(root, chosen.rounds),
    "forks": lambda root, chosen: forks.measure(root, min(chosen.rounds, 6)),
    "replies": lambda root, chosen: replies.measure(root, chosen.rounds),
    "crowd": lambda root, chosen: crowd.measure(root, chosen.asks),
}


def main() -> int:
    """Run the benchmark; the exit code is 1 if a goal is missed."""
    parser = option_parser(__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=", ".join(PARTS), default=list(PARTS)
    )
    parser.add_argument("--rounds", type=int, default=12, help="of each part (12)")
    parser.add_argument("--asks", type=int, default=1000, help="in `crowd` (1000)")
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if chosen.quick:
        chosen.rounds, chosen.asks = 1, 12
    rows = []
    for part in chosen.parts:
        with tempfile.TemporaryDirectory(prefix=f"hostbridge-{part}-") as folder:
            rows += PARTS[part](Path(folder).resolve(), chosen)
    show("hostbridge in the real client", rows)
    return exit_code(rows, quick=chosen.quick)


if __name__ == "__main__":
    sys.exit(main())
