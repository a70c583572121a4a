"""A limit inside the limit: it ends one piece of work and leaves the rest its time."""

import _signal  # what `signal` calls, and the limit itself
import os
import signal
import threading
import time
from contextlib import suppress

import pytest

from bridge.process.time_limit import TooSlow, within

# The usual method has the same alarm.
pytestmark = [pytest.mark.timeout(300, method="thread"), pytest.mark.slow]


@pytest.fixture
def rung(request):
    """When the outer limit rang; it is set to so many seconds."""
    times: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: times.append(time.monotonic()))
    signal.setitimer(signal.ITIMER_REAL, request.param)
    yield times
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("rung", [200], indirect=True)
def test_what_takes_too_long_is_ended(rung):
    with pytest.raises(TooSlow), within(0.1):
        time.sleep(36_000)

    assert rung == []


@pytest.mark.parametrize("rung", [2000], indirect=True)
@pytest.mark.parametrize("limit_s", [0.1, 60])
def test_the_outer_limit_goes_on(rung, limit_s):
    """Less the time that the block took."""
    with suppress(TooSlow), within(limit_s):
        time.sleep(0.2)

    assert 1000 < signal.getitimer(signal.ITIMER_REAL)[0] <= 2000 - min(limit_s, 0.2)
    assert rung == []


@pytest.mark.parametrize("rung", [2000], indirect=True)
def test_the_outer_limit_is_the_longer_one(rung):
    """Otherwise nobody were left to tell what took too long."""
    with within(36_000):
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 1000

    assert rung == []


def test_many_short_blocks_do_not_put_off_the_outer_limit():
    def work():
        for _ in range(1000):
            with within(60):
                time.sleep(0.002)

    with pytest.raises(TooSlow), within(0.2):
        work()


def test_without_an_outer_limit_none_is_left():
    with within(60):
        pass

    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_another_thread_has_no_limit():
    done = []

    def work():
        with within(0.01):
            time.sleep(0.1)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert done == [True]


@pytest.mark.parametrize("rung", [200], indirect=True)
def test_an_alarm_of_the_outer_limit_as_the_block_begins_is_not_lost(rung, monkeypatch):
    """It rings when ours is the handler already, and our limit does not run yet."""
    outer = signal.getsignal(signal.SIGALRM)
    install = _signal.signal

    def rings_at_once(number, handler):
        before = install(number, handler)
        if handler is not outer:
            os.kill(os.getpid(), signal.SIGALRM)
        return before

    monkeypatch.setattr(_signal, "signal", rings_at_once)
    with pytest.raises(TooSlow), within(60):
        pytest.fail("it had no time")

    assert signal.getsignal(signal.SIGALRM) is outer
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 100
    assert rung == []


@pytest.mark.parametrize("rung", [200], indirect=True)
def test_an_alarm_before_the_block_begins_leaves_nothing_behind(rung, monkeypatch):
    """The limit was over at once: its timer would go on and end anything."""
    setitimer = signal.setitimer

    def over_at_once(which, seconds, interval=0.0):
        setitimer(which, seconds, interval)
        if seconds == 0.5:
            os.kill(os.getpid(), signal.SIGALRM)

    monkeypatch.setattr(_signal, "setitimer", over_at_once)
    with pytest.raises(TooSlow), within(0.5):
        pytest.fail("it had no time")

    assert signal.getitimer(signal.ITIMER_REAL)[0] > 100
    assert rung == []
