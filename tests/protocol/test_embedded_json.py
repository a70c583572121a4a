"""The JSON in a message: what is found, and how much is tried."""

import pytest

from bridge.protocol import embedded_json
from bridge.protocol.embedded_json import Invalid, find_json

VALUES = [
    ("```\n[1]\n```", [[1]]),
    ("```\n[1]\n ``` \t\r\n[2]", [[1], [2]]),
    ("````\n```\n[1]\n```\n````", [[1]]),
    ("~~~\n[1]\n~~~~~\n[2]", [[1], [2]]),
    ("``` a`b\n[1]\n```\n[2]\n", [[2], [1]]),
    ("~~~ a`b\n[1]\n~~~\n", [[1]]),
    ("no [ json, but [1] and {} here", [[1], {}]),
    ("[[1]", [[1]]),
    ("so [NaN] [1]", [Invalid("NaN is not JSON"), [1]]),
    ('{"a": "x', []),
    ("12345678901234567890", [12345678901234567890]),
    ("-1234567890123456789", [-1234567890123456789]),
    ("so [1.5, -2e3]", [[1.5, -2000.0]]),
]


@pytest.mark.parametrize(("words", "values"), VALUES)
def test_values(words, values):
    assert list(find_json(words)) == values


@pytest.mark.parametrize(("limit", "values"), [(50, []), (1000, [[1]])])
def test_an_unterminated_string_costs_the_rest_of_the_message(
    monkeypatch, limit, values
):
    """The decoder has read all of it, whatever place it names."""
    monkeypatch.setattr(embedded_json, "_MAX_READ", limit)

    assert list(find_json('["' + "a" * 100 + " [1]")) == values


@pytest.mark.parametrize(("words", "values"), [("[a " * 9, [[1]]), ("[[a " * 9, [])])
def test_a_broken_value_costs_what_was_read(monkeypatch, words, values):
    monkeypatch.setattr(embedded_json, "_MAX_READ", 20)

    assert list(find_json(words + "x" * 99 + "[1]")) == values


@pytest.mark.parametrize(("tries", "values"), [(199, [[1]]), (200, [])])
def test_only_so_many_places_are_tried(tries, values):
    assert list(find_json("[a " * tries + "[1]")) == values


def test_a_rejected_value_costs_the_rest_of_the_message(monkeypatch):
    """It may have been rejected at its end."""
    monkeypatch.setattr(embedded_json, "_MAX_READ", 50)

    found = list(find_json("so [NaN] " + "x" * 99 + "[1]"))

    assert found == [Invalid("NaN is not JSON")]


def test_long_keys_and_numbers_are_quoted_in_part():
    key = "k" * 99

    texts = (f'{{"{key}": 1, "{key}": 2}}', "1" * 21, "1" * 99)

    assert [list(find_json(text)) for text in texts] == [
        [Invalid(f"the key '{key[:60]}…' stands twice in one JSON object")],
        [Invalid(f"the number {'1' * 21} is too large")],
        [Invalid(f"the number {'1' * 60}… is too large")],
    ]
