"""An interrupt counts, also one whose exception was dropped on its way."""

import os
import signal
import time
from contextlib import suppress
from itertools import cycle

import pytest
from scripted_server import silent

from bridge.api.bridge import Bridge
from bridge.api.project_status import Overview
from bridge.cli.common.interrupts import Interrupts
from bridge.cli.records.live_status import watch_json
from bridge.config import Settings

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _signals_as_before():
    handlers = {n: signal.getsignal(n) for n in (signal.SIGUSR1, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


class InterruptedWhenGone:
    """Its destructor is where a signal comes in: Python drops what that raises."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self.number)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_lost_interrupt_is_remembered():
    interrupts = Interrupts()
    interrupts.on(signal.SIGUSR1)

    interrupts()
    del (gone := [InterruptedWhenGone(signal.SIGUSR1)])[:]
    assert gone == []

    with pytest.raises(KeyboardInterrupt):
        interrupts()


class Interrupted(Bridge):
    """While it is looked at, an interrupt comes in where Python drops it."""

    def overview(self) -> Overview:
        del (gone := [InterruptedWhenGone(signal.SIGINT)])[:]
        assert gone == []
        return super().overview()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_lost_interrupt_ends_a_watch(project, capsys):
    watch_json(Interrupted(Settings.from_environment(project.env), project.folder))

    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_second_interrupt_does_not_disturb_the_first():
    """But once that is over, the next one counts."""
    Interrupts().on(signal.SIGUSR1)
    for _ in range(2):
        try:
            os.kill(os.getpid(), signal.SIGUSR1)
            pytest.fail("it was ignored")
        except KeyboardInterrupt:
            # Also while something else is handled on the way.
            with suppress(OSError):
                try:
                    os.stat("/nowhere")
                except OSError:
                    os.kill(os.getpid(), signal.SIGUSR1)
                    raise
            os.kill(os.getpid(), signal.SIGUSR1)


def test_signals_without_end_lose_no_cancel(project, server):
    """They come for as long as the command runs."""
    server.acts = [silent]
    numbers = cycle([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])

    ask = ("ask", "--route", "endpoint", "--model", "openai:m", "Which?")
    with project.start(*ask) as process:
        assert server.begun.wait(300)
        while process.poll() is None:
            process.send_signal(next(numbers))
            time.sleep(0.002)
        out, err = process.communicate()

    (request_id,) = project.ids()
    said = f"hostbridge: interrupted; cancelled {request_id}\n"
    assert (process.returncode, out, err.decode()) == (130, b"", said)
    assert project.response(request_id).status == "cancelled"
