"""An interrupt counts, also one whose exception was dropped on its way."""

from __future__ import annotations

import os
import signal

import pytest

from bridge.cli.interrupts import Interrupts


class InterruptedWhenGone:
    """Its destructor is where a signal comes in: Python drops what that raises."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_lost_interrupt_is_remembered():
    interrupts = Interrupts()
    before = signal.getsignal(signal.SIGUSR1)
    interrupts.on(signal.SIGUSR1)
    try:
        interrupts()
        del (gone := [InterruptedWhenGone()])[:]
        assert gone == []

        with pytest.raises(KeyboardInterrupt):
            interrupts()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        Interrupts().on(signal.SIGUSR1)

        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, before)
