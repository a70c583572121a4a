"""Interrupts that are not lost.

A signal may arrive while a destructor or a callback of the garbage collector runs, and
Python drops an exception that is raised there. So the signal is remembered as well, and
whoever waits checks for it from time to time. While the first one is being handled, a
request cancelled say, others are ignored: people press Ctrl-C twice.
"""

import signal
import sys
from collections.abc import Callable

from bridge.protocol.status import Stage


class Interrupts:
    """Makes signals end the command as Ctrl-C does; call it while waiting."""

    def __init__(self) -> None:
        self._arrived = False

    def on(self, *signals: signal.Signals) -> None:
        """Handle these signals, by default all three that end a program.

        Not those that nohup ignores.
        """
        usual = (signal.SIG_DFL, signal.default_int_handler)
        for number in signals or (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) in usual:
                signal.signal(number, self._interrupt)

    def __call__(self, *_: object) -> None:
        """Raise the interrupt that was lost, if there was one.

        Raises:
            KeyboardInterrupt: a signal has arrived.
        """
        if self._arrived:
            raise KeyboardInterrupt

    def before(self, then: Callable[[Stage], None]) -> Callable[[Stage], None]:
        """A callback of a wait: raises the lost interrupt, or else calls `then`."""

        def on_stage(stage: Stage) -> None:
            self()
            then(stage)

        return on_stage

    def _interrupt(self, _number: int, _frame: object) -> None:
        self._arrived = True
        handled = sys.exc_info()[1]
        while handled is not None:
            if isinstance(handled, KeyboardInterrupt):
                return
            handled = handled.__context__
        raise KeyboardInterrupt
