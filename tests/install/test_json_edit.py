"""Editing JSON as text: what is not edited keeps its bytes."""

import json
from json.decoder import JSONDecodeError

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridge.host.json_edit import JsonNode, insert, parse, remove

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)
# A busy machine is slow to make values.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
INDENTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])


def nodes(node: JsonNode) -> list[JsonNode]:
    return [node, *(each for part in node.parts for each in nodes(part.node))]


@UNHURRIED
@given(VALUES, INDENTS)
def test_what_is_parsed_is_what_json_says(value, indent):
    """And each value's place is its own text."""
    text = json.dumps(value, indent=indent)

    root = parse(text)

    assert root.value == value
    for node in nodes(root):
        assert json.loads(text[node.start : node.end]) == node.value


@UNHURRIED
@given(VALUES, INDENTS, st.sampled_from(["\n", "\r\n"]), st.data())
def test_what_is_put_in_can_be_taken_out(value, indent, newline, data):
    """One edit changes one place, and its reverse gives the bytes back."""
    text = json.dumps(value, indent=indent).replace("\n", newline)
    containers = [n for n in nodes(parse(text)) if isinstance(n.value, (dict, list))]
    if not containers:
        return
    number = data.draw(st.integers(0, len(containers) - 1))
    node = containers[number]
    key = "a new key" if isinstance(node.value, dict) else None

    longer = insert(text, node, {"x": [1, {}]}, key)
    same = next(n for n in nodes(parse(longer)) if n.start == node.start)
    shorter = remove(longer, same, same.parts[-1])

    assert same.parts[-1].node.value == {"x": [1, {}]}
    assert [p.node.value for p in same.parts[:-1]] == [p.node.value for p in node.parts]
    assert shorter == text


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1", '{"a"}', '{"a":}', "{a: 1}", "[1,]", '{"a":1,}', "[1 2]", "nul"],
)
def test_error_not_json(text):
    """Nothing is guessed: what json refuses is refused."""
    with pytest.raises(ValueError):  # noqa: PT011 - only that json agrees
        json.loads(text)

    with pytest.raises(JSONDecodeError):
        parse(text)


def test_error_nested_too_deeply():
    """A file of brackets is no reason to run out of stack."""
    with pytest.raises(JSONDecodeError, match="nested more than 100 levels deep"):
        parse("[" * 100_000)


def test_error_endless_number():
    with pytest.raises(JSONDecodeError):
        parse("[" + "1" * 10_000 + "]")
