"""Write every command's help into docs/commands.md, below its last heading.

    python scripts/make_commands.py

tests/docs runs what is shown there, and so notices a page that is out of date.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bridge.cli.commands import COMMANDS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
LAST_LINE = "Written by `scripts/make_commands.py`.\n"


def main() -> None:
    """Write the page."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    kept, _, _ = PAGE.read_text().partition(LAST_LINE)
    helps = [
        f"\n### {name}\n\n```console\n$ hostbridge {name} --help\n{help_of(name)}```\n"
        for name in COMMANDS
    ]
    PAGE.write_text(kept + LAST_LINE + "".join(helps))


def help_of(name: str) -> str:
    """What the command prints, in 80 columns."""
    return subprocess.run(
        [sys.executable, "-m", "bridge", name, "--help"],
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


if __name__ == "__main__":
    main()
