"""Every call that can fail fails, once or from then on; nothing is lost."""

import functools
import itertools
import resource
import signal

import pytest
from faultlab import prepared, tell
from storeoperations import OPERATIONS
from systemcalls import ERRORS, Outcome, together
from test_kill_points import check_promises
from thoroughness import sampled

pytestmark = [pytest.mark.faults, pytest.mark.slow]

# Prune makes hundreds.
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
def test_a_call_that_fails_loses_nothing(operation, again):
    for_good = again == "from then on"
    with prepared(operation) as state:
        for _fault, store, outcome in state.failing(
            ERRORS, MOST, for_good=for_good, everywhere=not for_good
        ):
            check_outcome(outcome)
            check_promises(state, store)
    tell(f"{operation.name}, {again}: {state.cases} failing calls")


@pytest.mark.parametrize("operation", OPERATIONS[:6], ids=lambda o: o.name)
def test_an_interrupted_call_is_made_again(operation):
    with prepared(operation) as state:
        calls = ("openat", "write", "fsync", "flock")
        for call, number in sampled([*itertools.product(calls, range(1, 12))]):
            fault = f"inject={call}:error=EINTR:when={number}"
            store, outcome = state.broken(fault)
            assert outcome.status == "returned", outcome.message
            check_promises(state, store)
    tell(f"{operation.name}: {state.cases} interrupted calls")


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

            act = functools.partial(operation.act, store)
            (outcome,) = together([act], limits)
            check_outcome(outcome)
            check_promises(state, store)
            cases += 1
    tell(f"{operation.name}: {cases} short writes")
