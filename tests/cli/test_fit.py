"""Lists are cut before anything else, and say by how much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.cli.records.live_text import Block, fitted

LONG = Block(["LONG"], [f"row {n}" for n in range(6)], rank=1)
SHORT = Block(["SHORT"], ["one", "two"], ["the end"], rank=2)
FIRM = Block(["firm"])

LIST = ["LONG", *LONG.rows]
REST = ["SHORT", "one", "two", "the end"]
SCREENS = {
    14: ["firm", "", *LIST, "", *REST],
    12: ["firm", *LIST, *REST],
    10: ["firm", *LIST[:4], "and 3 more", *REST],
    8: ["firm", *LIST[:2], "and 5 more", *REST[:2], "and 1 more", "the end"],
    6: ["firm", "", *LIST[:2], "and 5 more"],
    2: ["firm"],
    0: [],
}


@pytest.mark.parametrize("height", SCREENS)
def test_what_is_left_at_a_height(height):
    assert fitted([FIRM, LONG, SHORT], height) == SCREENS[height]


def test_what_nobody_has_read_is_counted_with_the_rest():
    block = Block(["HEAD"], ["one", "two"], unread=1_000, rank=1)

    assert fitted([block], 4) == ["HEAD", "one", "two", "and 1,000 more"]
    assert fitted([block], 3) == ["HEAD", "one", "and 1,001 more"]


def test_the_list_of_a_firm_block_is_cut_last():
    firm = Block(rows=["for you 1", "for you 2", "for you 3"])

    shown = fitted([firm, LONG], 6)

    assert shown == [*firm.rows, "LONG", "row 0", "and 5 more"]
    assert fitted([firm, LONG], 2) == ["for you 1", "and 2 more"]


blocks = st.builds(
    Block,
    st.lists(st.just("h"), max_size=2),
    st.lists(st.just("r"), max_size=9),
    st.lists(st.just("f"), max_size=1),
    st.integers(0, 3),
    st.integers(0, 3),
)


@given(st.lists(blocks, max_size=5), st.integers(0, 30))
def test_it_is_never_higher(some, height):
    assert len(fitted(some, height)) <= height
