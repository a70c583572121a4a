"""What routes of their own take is charged to the session that they run under."""

import pytest
from servingworld import GOOD, A, new_worker, response, saying
from spent import spent
from storeworld import request, store_in, this_process

from bridge.config import Settings
from bridge.protocol.outcome import Outcome
from bridge.protocol.response import RunSummary
from bridge.protocol.usage import Usage
from bridge.store import sessions
from bridge.store.clock import uptime
from bridge.store.sessions import Session, SessionLimits
from bridge.worker.executors import open_worker

LIMITS = SessionLimits(slots=4, agents_per_hour=1)
RUN = RunSummary(
    model="m", turns=2, tools={}, prompt_tokens=100, cached_tokens=60, tokens=20,
    duration=1,
)  # fmt: skip


@pytest.fixture
def store(tmp_path):
    made = store_in(tmp_path)
    made.submit(request("a", route="claude"))
    return made


def opened(store, **fields):
    """This process is the client of an open session."""
    session = Session(
        session_id="s1", host=this_process(), registered_at=1, limits=LIMITS, **fields
    )
    sessions.save(store, session)
    return session


@pytest.mark.parametrize(
    ("outcome", "tokens"),
    [
        (Outcome(GOOD, told_usage=Usage(input_tokens=69, output_tokens=1)), 70),
        (Outcome(GOOD, run=RUN), 60),
        (Outcome(GOOD), None),
    ],
    ids=["claude", "local or endpoint", "not told"],
)
def test_an_agent_and_its_tokens_are_counted(store, outcome, tokens):
    session = opened(store)

    new_worker(store, saying(outcome), session=session).serve(A)

    (now,) = sessions.live_sessions(store)
    (charge,) = now.spending.charges.values()
    assert (charge.tokens, charge.end is None) == (tokens, False)


def test_a_spent_budget_serves_nothing(store):
    session = opened(store, spent=spent(uptime(store.clock), 5))

    new_worker(store, saying(Outcome(GOOD)), session=session).serve(A)

    error = response(store).error
    expected = ("budget", True)
    assert (error.code, "1 of 1 agents of this hour" in error.message) == expected


def test_what_a_rule_has_started_is_not_counted_again(store):
    """Its hook has taken the last agent of the hour for it."""
    session = opened(store)
    sessions.note_launch(store, session, A, left_ms=9000)

    told = saying(Outcome(GOOD, told_usage=Usage(output_tokens=7)))
    new_worker(store, told, session=session).serve(A)

    (now,) = sessions.live_sessions(store)
    assert response(store).success
    assert [each.tokens for each in now.spending.charges.values()] == [7]


def test_outside_a_session_no_budget_holds(store):
    """A script of its user's is no session's agent."""
    opened(store, spent=spent(uptime(store.clock), 5))

    new_worker(store, saying(Outcome(GOOD))).serve(A)

    assert response(store).success


def test_the_client_above_says_which_session(store, tmp_path):
    session = opened(store)
    inside = Settings(tmp_path, host_pid=session.host.pid, claude="/bin/true")

    worker = open_worker(store, inside, "claude")

    assert worker.session == session
    outside = Settings(tmp_path, claude="/bin/true")
    assert open_worker(store, outside, "claude").session is None
