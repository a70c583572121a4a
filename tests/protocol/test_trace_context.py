"""What counts as a TRACEPARENT, and what a request hands on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.protocol.trace_context import (
    TraceContext,
    find_context,
    handed_on,
    span_of,
    variables_of,
)

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
TRACED = f"00-{TRACE}-{SPAN}-01"


def test_a_context_is_read_as_the_standard_has_it():
    assert find_context(TRACED) == TraceContext(TRACE, SPAN, "01")
    assert str(find_context(TRACED)) == TRACED


def test_a_later_version_may_say_more():
    assert find_context(f"cc-{TRACE}-{SPAN}-01-more") == TraceContext(TRACE, SPAN, "01")


INVALID = [
    *(None, ""),
    f"ff-{TRACE}-{SPAN}-01",
    f"00-{'0' * 32}-{SPAN}-01",
    f"00-{TRACE}-{'0' * 16}-01",
    f"00-{TRACE.upper()}-{SPAN}-01",
    f"00-{TRACE}-{SPAN}-01-more",
    f"00-{TRACE}-{SPAN}-01\n",
    f"cc-{TRACE}-{SPAN}-01-\n",
    f"00-{TRACE}-{SPAN}",
]


@pytest.mark.parametrize("text", INVALID)
def test_what_is_not_valid_counts_as_none(text):
    """The standard says so, and nobody's question should fail for it."""
    assert find_context(text) is None
    assert handed_on(text, "a") is None
    assert variables_of(text, "a") == {"TRACEPARENT": ""}


def test_what_a_request_starts_is_below_it_in_the_same_trace():
    assert variables_of(TRACED, "a") == {"TRACEPARENT": f"00-{TRACE}-{span_of('a')}-01"}


@given(st.text())
def test_an_id_of_a_span_is_valid_whatever_the_name(name):
    assert find_context(handed_on(TRACED, name)) is not None
