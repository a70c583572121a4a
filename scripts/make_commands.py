"""Write every command's help into docs/commands.md, below its last heading.

    python scripts/make_commands.py

tests/docs runs what is shown there, and so notices a page that is out of date.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from bridge.cli.commands import COMMANDS, module_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
LAST_LINE = "Written by `scripts/make_commands.py`.\n"


def main() -> None:
    """Write the page."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    kept, _, _ = PAGE.read_text().partition(LAST_LINE)
    parts = ["", shown("--help")]
    for name in COMMANDS:
        parts += [f"### {name}\n", shown(f"{name} --help")]
        for verb in getattr(import_module(module_of(name)), "VERBS", ()):
            parts += [f"#### {name} {verb}\n", shown(f"{name} {verb} --help")]
    PAGE.write_text(kept + LAST_LINE + "\n".join(parts))


def shown(words: str) -> str:
    """A command with what it prints, in 80 columns."""
    printed = subprocess.run(
        [sys.executable, "-P", "-m", "bridge", *words.split()],
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    # The page says it once, for all commands.
    printed = re.sub(r"^Everywhere:\n(  .*\n)+", "…\n", printed, flags=re.M)
    return f"```console\n$ hostbridge {words}\n{printed}```\n"


if __name__ == "__main__":
    main()
