"""The life of a request: every transition in the table, and the stages."""

from __future__ import annotations

import itertools

import pytest

from bridge.protocol.request import Claim, HostProcess, Request
from bridge.protocol.status import FINAL, TRANSITIONS, Stage, Status, move

LEGAL = {
    "pending": "processing completed failed timeout cancelled",
    "processing": "pending completed failed timeout cancelled",
}


@pytest.mark.parametrize(("start", "end"), list(itertools.product(Status, Status)))
def test_a_request_moves_only_as_the_table_says(start: Status, end: Status):
    if end in LEGAL.get(start, "").split():
        assert move(start, end) is end
        return

    with pytest.raises(ValueError, match="cannot go") as caught:
        move(start, end)

    assert str(caught.value) == f"a request cannot go from {start} to {end}"


def test_every_status_has_a_row():
    assert set(TRANSITIONS) == set(Status)


def test_a_final_status_has_no_transition():
    assert all(TRANSITIONS[status] == frozenset() for status in FINAL)


@pytest.mark.parametrize(
    ("fields", "stage"),
    [
        ({}, Stage.OFFERED),
        ({"launched_at": 5}, Stage.RUNNING),
        ({"launched_at": 5, "corrections": 1}, Stage.INVALID_ANSWER),
    ],
    ids=["offered", "running", "invalid"],
)
def test_the_stage_of_a_claim(fields: dict[str, int], stage: Stage):
    host = HostProcess(pid=1, start_time="1", boot="b")

    assert Claim(session="s", host=host, at=1, **fields).stage is stage


def test_a_claimed_request_is_served_on_the_route_of_its_claim():
    host = HostProcess(pid=1, start_time="1", boot="b")
    claim = Claim(session="s", host=host, at=1, route="claude")
    waiting = Request(request_id="a", prompt="Which?", route="local")

    assert waiting.served_on == "local"
    assert waiting.with_(claim=claim).served_on == "claude"
