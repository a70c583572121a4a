"""Compare the local route with llama.cpp alone, with the same model.

scripts/bench_local.py              everything; takes minutes
scripts/bench_local.py speed cache  some parts: speed, reply, ask, valid, memory, cache
scripts/bench_local.py --quick      a smoke test with few rounds
scripts/bench_local.py build --beside FOLDER
                                    the installed llama.cpp beside another build of it,
                                    whose libraries are in FOLDER

Needs the extra `local`. BRIDGE_LOCAL_MODEL names another
model.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from bench.local import Bench
from bench.script import exit_code, option_parser
from bench.table import Row, show

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = ("speed", "reply", "ask", "valid", "memory", "cache")


def main() -> int:
    """Run the benchmark; the exit code is 1 if a goal is missed."""
    parser = option_parser(__doc__)
    parser.add_argument("part", nargs="*", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each part (9)")
    parser.add_argument("--beside", help="the libraries of another build, for `build`")
    parser.add_argument("--runs", type=int, default=200, help="replies to check (200)")
    chosen = parser.parse_args()
    if unknown := set(chosen.part) - {*PARTS, "build"}:
        parser.error(f"no part {', '.join(unknown)}")
    if "build" in chosen.part and not chosen.beside:
        parser.error("build takes --beside FOLDER")
    bench = Bench(2 if chosen.quick else chosen.rounds)
    parts: dict[str, Callable[[], list[Row]]] = {
        "speed": bench.speed,
        "reply": bench.reply,
        "ask": bench.ask,
        "valid": lambda: bench.valid(10 if chosen.quick else chosen.runs),
        "memory": bench.memory,
        "cache": bench.cache,
        "build": lambda: bench.build(chosen.beside),
    }
    rows: list[Row] = []
    try:
        for name in chosen.part or PARTS:
            part = parts[name]()
            show(f"{name}, {bench.model.name}", part)
            rows += part
    finally:
        shutil.rmtree(bench.home)
    return exit_code(rows, quick=chosen.quick)


if __name__ == "__main__":
    raise SystemExit(main())
