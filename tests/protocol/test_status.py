"""The life of a request: every transition in the table, and the stages."""

from __future__ import annotations

import itertools

import pytest

from bridge.protocol.status import FINAL, TRANSITIONS, Status, move

LEGAL = {
    "pending": "processing completed failed timeout cancelled",
    "processing": "pending completed failed timeout cancelled",
}


@pytest.mark.parametrize(("start", "end"), list(itertools.product(Status, Status)))
def test_a_request_moves_only_as_the_table_says(start, end):
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
