"""`hostbridge hook EVENT [KIND]`: one hook process, the event on stdin.

Unlike the other commands, it parses no options: a usage error exits with 2, which in a
hook means "block". It fails open.
"""

from __future__ import annotations

import sys

from bridge.cli.commands import COMMANDS
from bridge.cli.exit_codes import Exit


def run(arguments: list[str]) -> int:
    """Answer one event and exit; returns only if there is nothing to answer."""
    if not arguments or arguments[0] in ("--help", "-h"):
        examples = "\n".join(f"  {line}" for line in COMMANDS["hook"].examples)
        sys.stdout.write(f"{__doc__}\nFor example:\n{examples}\n")
        return Exit.OK
    sys.argv[1:] = arguments
    try:
        from bridge.host.hook import main

        main()
    except Exception:  # noqa: BLE001, S110 - fails open: a session is worth more
        pass
    return Exit.OK
