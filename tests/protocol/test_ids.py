"""Request ids: which are valid, and how ours sort."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import InvalidRequest
from bridge.protocol.ids import PRIORITIES, check_id, find_rank, is_id, new_request_id
from bridge.protocol.names import is_client_model, is_model

HOSTILE = {
    "empty": "",
    "parent": "..",
    "climbing": "../x",
    "absolute": "/etc/passwd",
    "nested": "a/b",
    "nul": "a\0b",
    "newline": "a\n",
    "dot file": ".a",
    "suffix": "a.json",
    "space": "a b",
    "not ascii": "ä",
    "full width": "\uff41",
    "129 bytes": "a" * 129,
    "255 bytes": "a" * 255,
    "256 bytes": "a" * 256,
    "surrogate": "\udc80",
}


@pytest.mark.parametrize("text", list(HOSTILE.values()), ids=list(HOSTILE))
def test_error_an_unsafe_id(text):
    assert not is_id(text)
    with pytest.raises(InvalidRequest) as caught:
        check_id(text)

    shown = text if len(text) <= 60 else text[:60] + "…"
    expected = f"request id {shown!r}: expected 1 to 128 of A-Z a-z 0-9 _ -"
    assert str(caught.value) == expected


@pytest.mark.parametrize("text", ["a", "A-b_9", "-", "a" * 128])
def test_a_valid_id(text):
    assert check_id(text) == text


@given(st.integers(0, 2**53), st.sampled_from(PRIORITIES))
def test_our_ids_carry_time_and_priority(now_us, priority):
    made = new_request_id(now_us, priority)

    assert is_id(made)
    assert find_rank(made) == (priority, now_us)


@given(st.integers(0, 2**53), st.integers(0, 2**53))
def test_our_ids_sort_by_time(one, other):
    first, second = sorted((one, other))

    assert new_request_id(first)[:11] <= new_request_id(second)[:11]


@given(st.text(max_size=40))
def test_find_rank_takes_any_text(text):
    rank = find_rank(text)

    assert rank is None or is_id(text)


# Names of models


MODELS = [
    ("haiku", True, True),
    ("claude-opus-4-1", True, True),
    ("inherit", True, False),
    ("models/a.gguf", True, False),
    ("openai:mistral", True, False),
    ("openai:", False, False),
    ("haikuu", False, False),
    ("openai:a\nb", False, False),
    ("a\u2028.gguf", False, False),
    ("My\u00a0Models/a.gguf", True, False),
]


@pytest.mark.parametrize(("model", "is_known", "is_clients"), MODELS)
def test_models(model, *, is_known, is_clients):
    assert is_model(model) is is_known
    assert is_client_model(model) is is_clients
