"""`hostbridge hook EVENT [KIND]`: one hook process, the event on stdin.

Not a command like the others: nothing here parses options, because exit 2 of a hook
means "block", and that is what a usage error exits with. Fails open.
"""

from __future__ import annotations

import sys

from bridge.cli.commands import COMMANDS
from bridge.cli.exit_codes import Exit


def run(arguments: list[str]) -> int:
    """Answer one event, and leave; returns only when there is nothing to answer."""
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
