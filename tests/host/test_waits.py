"""Why a request waits, from records alone: the first reason that holds."""

import pytest
from spent import UP, spent

from bridge.host.waits import Around, why_waits
from bridge.protocol.claim import Claim, HostProcess
from bridge.protocol.request import Request
from bridge.store.sessions import Session, SessionLimits

NOW = 1_800_000_000_000
HOST = HostProcess(pid=7, start_time="1", boot="b")


def session(name: str = "s1", *ago_ms: int, **limits: object) -> Session:
    return Session(
        session_id=name,
        host=HOST,
        registered_at=NOW,
        spent=spent(UP, *ago_ms),
        limits=SessionLimits(**{"slots": 1, "agents_per_hour": 9, **limits}),
    )


def request(**fields: object) -> Request:
    return Request(request_id="r1", prompt="?", created_at=NOW, **fields)


BUSY = request(claim=Claim(session="s1", host=HOST, at=NOW, launched_at=NOW))
ON = session()
SPENT = session("s1", 1, agents_per_hour=1)

REASONS = {
    # the request; sessions that are open, those that are on; what is claimed
    "hostbridge is off": (request(), [ON], [], [], True, "off"),
    "another route": (request(route="claude"), [ON], [ON], [], False, "process"),
    "none is open": (request(), [], [], [], False, "session"),
    "that one is not open": (request(session="x"), [ON], [ON], [], False, "session"),
    "all are off": (request(), [ON], [], [], False, "switched off"),
    "declined": (request(declined_by=("s1",)), [ON], [ON], [], False, "declined"),
    "too many at once": (request(held=100), [ON], [ON], [], False, "person"),
    "all slots are taken": (request(), [ON], [ON], [BUSY], False, "slots"),
    "a budget": (request(), [SPENT], [SPENT], [], False, "budget"),
    "nothing": (request(), [ON], [ON], [], False, "turn"),
}


@pytest.mark.parametrize("case", REASONS)
def test_why_a_request_waits(case):
    asked, live, on, claimed, is_off, kind = REASONS[case]

    waits = why_waits(asked, Around(live, on, claimed, UP, is_off=is_off))

    assert waits.kind == kind
    assert (waits.limit is not None) == (kind in ("person", "slots", "budget"))


def test_a_budget_says_until_when_and_what_frees_it():
    waits = why_waits(request(), Around([SPENT], [SPENT], [], UP))

    assert waits.for_s is not None
    assert 0 < waits.for_s <= 3_600
    assert waits.cure == "hostbridge config set agents_per_hour 2"
