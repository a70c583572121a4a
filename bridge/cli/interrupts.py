"""Interrupts that are not lost.

An exception that a signal raises may come up within a destructor or a callback of the
garbage collector, where Python drops it. So what came is remembered, too, and looked at
now and then by whoever waits.
"""

from __future__ import annotations

import signal


class Interrupts:
    """Has signals end the command as Ctrl-C does; call it while waiting."""

    def __init__(self) -> None:
        self._came = False

    def on(self, *signals: signal.Signals) -> None:
        """Take these; what nohup ignores stays ignored."""
        usual = (signal.SIG_DFL, signal.default_int_handler)
        for number in signals:
            if signal.getsignal(number) in usual:
                signal.signal(number, self._interrupt)

    def __call__(self, *_: object) -> None:
        """Nothing, or the interrupt that was lost on its way.

        Raises:
            KeyboardInterrupt: a signal has come.
        """
        if self._came:
            raise KeyboardInterrupt

    def _interrupt(self, _number: int, _frame: object) -> None:
        self._came = True
        raise KeyboardInterrupt
