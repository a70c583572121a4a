"""What every benchmark has: its options, a folder to work in, and its exit code."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.table import Row


def rounds_of(page: str | None, rounds: int, what: str) -> tuple[int, bool]:
    """How often to run each case, and whether it is a smoke test: all that is chosen.

    `what` is what a round is, for the help.
    """
    parser = option_parser(page)
    help_text = f"{what} ({rounds})"
    parser.add_argument("--rounds", type=int, default=rounds, help=help_text)
    chosen = parser.parse_args()
    return (2 if chosen.quick else chosen.rounds), chosen.quick


def option_parser(page: str | None) -> argparse.ArgumentParser:
    """Options: `--help` prints the script's page, and `--quick` is a smoke test."""
    made = argparse.ArgumentParser(
        description=page, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--quick", action="store_true", help="a smoke test")
    return made


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the block, by its real path, which that of a state mirrors."""
    with tempfile.TemporaryDirectory(prefix="hostbridge-bench-") as folder:
        yield Path(folder).resolve()


def exit_code(rows: Sequence[Row], *, quick: bool) -> int:
    """1 if a goal was missed; in a smoke test figures mean nothing."""
    return 0 if quick or all(row.is_met for row in rows) else 1
