"""An agent that has answered is kept for one question, whatever is killed.

The claim of a request is what reserves it, so there is no second note that a kill could
leave behind.
"""

from functools import partial

import pytest
from faultlab import Operation, prepared, tell
from storeworld import (
    claim_all,
    claimant,
    finish_everything,
    request,
    store_in,
    take,
    this_process,
)
from systemcalls import together
from test_kill_points import check_promises

from bridge.protocol.request import Applied, Request, Reuse
from bridge.store import idle_agents
from bridge.store.store import Store

pytestmark = pytest.mark.faults

REUSING = Applied(digest="d", prompt="p", reuse=Reuse())


def answer_one(store: Store) -> None:
    """One agent has answered, and two questions of its kind wait."""
    store.submit(request("first", definition=REUSING))
    (mine,) = store.claim(claimant(), 1, take)
    with store.state() as state:
        made = idle_agents.make(state, mine, "agent1", "session-1", "/p")
        idle_agents.note(state, made)
    finish_everything(store)
    for name in ("a", "b"):
        store.submit(request(name, definition=REUSING))


def reserve_all(store: Store) -> list[str]:
    """Claim what waits and have the idle agent for it; who has got it."""
    claimed = claim_all(store)
    with store.state() as state:
        return [
            mine.request_id
            for mine in claimed
            for idle in idle_agents.all_idle(state)
            if idle_agents.reserve(state, idle, mine) is not None
        ]


def holders(store: Store) -> list[Request]:
    """The claimed requests that have the agent."""
    return [each for each in store.claimed() if each.claim and each.claim.continued]


@pytest.mark.slow
def test_a_kill_while_an_agent_is_reserved_loses_nothing():
    """At every change; afterwards at most one has it, and both are answered."""
    operation = Operation("reserve", answer_one, reserve_all, frozenset(("a", "b")))
    with prepared(operation) as state:
        for _kill, store, _outcome in state.killed():
            assert len(holders(store)) <= 1
            check_promises(state, store)
            with store.state() as opened:
                assert len(idle_agents.all_idle(opened)) == 1
    tell(f"reserve: {state.cases} kill points")


def test_of_many_hooks_one_gets_the_agent(tmp_path):
    """Hooks of one session run at the same time."""
    store = store_in(tmp_path)
    answer_one(store)
    for number in range(6):
        store.submit(request(f"more-{number}", definition=REUSING))
    held = store.claim(claimant(this_process()), 100, take)
    with store.state() as state:
        (idle,) = idle_agents.all_idle(state)

    def reserve(mine):
        with store.state() as state:
            return idle_agents.reserve(state, idle, mine) is not None

    won = [each.value for each in together(partial(reserve, mine) for mine in held)]

    assert sorted(won) == [False] * (len(held) - 1) + [True]
    assert len(holders(store)) == 1


def test_the_agent_is_free_when_its_request_has_ended(tmp_path):
    """However it ended: the reservation is not a note of its own."""
    store = store_in(tmp_path)
    answer_one(store)

    (first,) = reserve_all(store)
    finish_everything(store)
    store.submit(request("c", definition=REUSING))
    (second,) = reserve_all(store)

    assert (first, second) == ("a", "c")
