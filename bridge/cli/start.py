"""Where the command begins: an interrupt ends it quietly also while it is loading.

An exception out of an import that was interrupted could come up anywhere, or nowhere.
Until there is something to undo, an interrupt just ends the process.
"""

import os
import signal

# As in `bridge.cli.exit_codes`, which takes time to import.
_INTERRUPTED = 130


def main() -> None:
    """Load the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from bridge.cli.main import main as run

    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _end(_number: int, _frame: object) -> None:
    os.write(2, b"hostbridge: interrupted\n")
    os._exit(_INTERRUPTED)
