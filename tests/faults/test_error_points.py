"""Row 2: every call that can fail fails, once or from then on; nothing is lost."""

from __future__ import annotations

import functools
import resource
import signal

import pytest
from faultlab import (
    FALLIBLE,
    OPERATIONS,
    Outcome,
    collect,
    prepared,
    start,
    tell,
)
from test_kill_points import check_promises

pytestmark = [pytest.mark.faults, pytest.mark.slow]

ERRORS = {
    "openat": ("EMFILE", "ENOSPC", "EIO"),
    "mkdirat": ("ENOSPC", "EROFS"),
    "write": ("ENOSPC", "EIO"),
    "fsync": ("EIO",),
    "linkat": ("ENOSPC", "EIO"),
    "renameat": ("ENOSPC", "EIO"),
    "unlinkat": ("EIO", "EROFS"),
    "flock": ("EIO",),
}
# So many of one call and error; the first ones tell the most, prune makes hundreds.
MOST = 20


def check_outcome(outcome: Outcome) -> None:
    """Done, or an error with a name that says what and where; never a bare OSError."""
    assert outcome.status in ("returned", "raised")
    if outcome.status == "raised":
        assert outcome.is_ours, outcome.message
        kind, _, message = outcome.message.partition(": ")
        assert kind in ("StateUnavailable", "StateRefused"), outcome.message
        assert "/state/srv/app/@" in message or "/home" in message


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
@pytest.mark.parametrize("again", ["once", "from then on"])
def test_a_call_that_fails_loses_nothing(operation, again, record_property):
    cases = 0
    with prepared(operation) as state:
        calls = state.calls()
        for call in FALLIBLE:
            for error in ERRORS[call]:
                for number in range(1, min(calls.get(call, 0), MOST) + 1):
                    when = f"{number}+" if again == "from then on" else str(number)
                    fault = f"inject={call}:error={error}:when={when}"
                    store, outcome = state.broken(fault)
                    check_outcome(outcome)
                    check_promises(state, store)
                    cases += 1
    record_property("cases", cases)
    tell("2", f"{operation.name}, {again}: {cases} failing calls")


@pytest.mark.parametrize("operation", OPERATIONS[:6], ids=lambda o: o.name)
def test_an_interrupted_call_is_made_again(operation):
    cases = 0
    with prepared(operation) as state:
        for call in ("openat", "write", "fsync", "flock"):
            for number in range(1, 12):
                fault = f"inject={call}:error=EINTR:when={number}"
                store, outcome = state.broken(fault)
                assert outcome.status == "returned", outcome.message
                check_promises(state, store)
                cases += 1
    tell("2", f"{operation.name}: {cases} interrupted calls")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_a_short_write_leaves_no_half_file(operation):
    """The kernel writes what fits under the limit, then refuses."""
    cases = 0
    with prepared(operation) as state:
        for limit in (0, 1, 31, 33, 100, 300, 500, 700, 900, 1100, 1300, 1600):
            store = state.fresh()

            def limits(most: int = limit) -> None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

            pid, go, report = start(functools.partial(operation.act, store), limits)
            with open(go, "wb") as pipe:
                pipe.write(b"!")
            check_outcome(collect(pid, report))
            check_promises(state, store)
            cases += 1
    tell("2", f"{operation.name}: {cases} short writes")
