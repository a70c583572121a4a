"""Whatever waits: who may be taken is taken, in order, at a bounded cost."""

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storeworld import START_US, FakeClock, claimant, drop, place_in, request

from bridge.protocol.ids import PRIORITIES, new_request_id
from bridge.store import claim_next
from bridge.store.store import Store

pytestmark = pytest.mark.slow

# As small as the queues are, so that each limit is met.
FEW, ASKED = 3, 3
LIMITS = {
    "FEW": FEW,
    "MAX_ASKED": ASKED,
    "_MAX_LOOKED": 4,
    "_MAX_LEFT": 4,
    "_MAX_BEYOND": 2,
    "_MAX_ENDED": 2,
}
KINDS = ("mine", "mine", "other", "paused", "newer", "overdue")

waiting = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(PRIORITIES), st.booleans()),
    max_size=60,
)


class Looking(Store):
    """Counts the requests that are read, each of which takes a millisecond."""

    looks = 0

    def find_waiting(self, name):
        Looking.looks += 1
        self.clock.go_on(0.001)
        return super().find_waiting(name)


def put(store, number, kind, priority, is_ours):
    """A request as another program would put it there; its id."""
    at_us = START_US + number * 1000
    ours = new_request_id(at_us, priority)
    one = ours if is_ours else f"{'abc'[number % 3]}-{ours}"
    fields = {
        "other": {"session": "gone"},
        "paused": {"not_before": START_US // 1000 + 10**9},
        "overdue": {"timeout": 1, "created_at": START_US // 1000 - 10},
    }.get(kind, {})
    asked = request(one, priority=priority, **{"created_at": at_us // 1000, **fields})
    data = json.loads(asked.to_json())
    if kind == "newer":
        data["schemaVersion"] = 2
    drop(store, "requests", f"{one}.json", json.dumps(data))
    return one


def judge(asked):
    return "take" if asked.session in (None, "session-1") else "pass"


@given(waiting)
@settings(max_examples=60, deadline=None)
def test_all_that_may_be_taken_is_taken_in_order_and_costs_little(asked):
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(patch.multiple(claim_next, **LIMITS))
        store = Looking(place_in(Path(folder)), clock=FakeClock(), lock_wait_s=5)
        mine = {}
        for number, (kind, priority, is_ours) in enumerate(asked):
            one = put(store, number, kind, priority, is_ours)
            if kind == "mine":
                mine[one] = (PRIORITIES.index(priority), number, is_ours)

        taken, costs = [], []
        while True:
            Looking.looks = 0
            found = store.claim(claimant(), len(taken) + 1, judge)
            costs.append(Looking.looks)
            if not found:
                break
            taken += [one.request_id for one in found]

    assert sorted(taken) == sorted(mine)
    ours = [one for one in taken if mine[one][2]]
    assert ours == sorted(ours, key=lambda one: mine[one])
    # The first has looked along the whole queue; a later one may once more, where names
    # come into sight that somebody else chose.
    assert sum(costs[1:]) <= (2 * FEW + 3 * ASKED + 8) * len(costs), costs
