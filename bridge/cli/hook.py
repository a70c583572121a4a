"""Answer one event of Claude Code, which is on stdin.

Usage: hostbridge hook EVENT [KIND]

Unlike the other commands, it parses no options: a usage
error exits with 2, which in a hook means "block". Whatever
fails in it, the session goes on.

For example:
  echo '{}' | hostbridge hook PostToolUse
  echo '{}' | hostbridge hook SessionStart local
"""

import sys

from bridge.cli.common.exit_codes import Exit


def run(arguments: list[str]) -> int:
    """Answer one event and exit; returns only if there is nothing to answer."""
    if not arguments or arguments[0] in ("--help", "-h"):
        summary, usage, rest = (__doc__ or "").split("\n\n", 2)
        sys.stdout.write(f"{usage}\n\n{summary}\n\n{rest}")
        return Exit.OK
    try:
        from bridge.host.hook import main

        event, kind, state = [*arguments, "", ""][:3]
        main(event, kind, state)
    except Exception:  # noqa: BLE001, S110 - fails open: a session is worth more
        pass
    return Exit.OK
