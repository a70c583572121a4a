"""The entry point: an interrupt ends the command quietly, even while it is imported.

An exception raised during an import may surface anywhere, or be lost. Until there is
something to undo, an interrupt just ends the process.
"""

import os
import signal
import sys

# As in `bridge.cli.common.exit_codes`, which is slow to import.
_INTERRUPTED = 130
_ENDED = (
    b'{"requestId":null,"success":false,'
    b'"error":{"code":"interrupted","message":"interrupted","stage":null}}\n'
)


def main() -> None:
    """Load the command line and run it."""
    _open_what_is_closed()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from bridge.cli.main import main as run

    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _open_what_is_closed() -> None:
    """Have 0, 1 and 2 be taken: a file of ours with such a number would be mixed up."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _end(_number: int, _frame: object) -> None:
    if {"--json", "-j"} & {*sys.argv}:
        os.write(1, _ENDED)
    os.write(2, b"hostbridge: interrupted\n")
    os._exit(_INTERRUPTED)
