"""What hostbridge costs in the real client, beside the client's own cost.

The client is the real one, its model is scripted: nothing here says how a model thinks.

    scripts/bench_host.py                          everything, about six minutes
    scripts/bench_host.py calls wakes              some of it
    scripts/bench_host.py crowd --asks 1000
    scripts/bench_host.py --quick                  a smoke test
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench import calls, tokens, wakes
from bench.table import missed, show


def main() -> int:
    """Run the benchmark; exit 1 when a goal is missed."""
    parts = {
        "calls": lambda root: calls.measure(root, 1 if chosen.quick else chosen.rounds),
        "tokens": tokens.measure,
        "wakes": lambda root: wakes.measure(root, 1 if chosen.quick else chosen.rounds),
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    parser.add_argument("--rounds", type=int, default=12, help="of each part (12)")
    parser.add_argument("--asks", type=int, default=1000, help="in `crowd` (1000)")
    chosen = parser.parse_args()
    rows = []
    for part in chosen.parts or parts:
        with tempfile.TemporaryDirectory(prefix=f"hostbridge-{part}-") as folder:
            rows += parts[part](Path(folder).resolve())
    show("hostbridge in the real client", rows)
    return 0 if chosen.quick else min(1, missed(rows))


if __name__ == "__main__":
    sys.exit(main())
