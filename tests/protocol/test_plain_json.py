"""Without orjson the same JSON is read and written, and the same is refused."""

import json
import sys
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.protocol import plain_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts),
    max_leaves=20,
)
TEXTS = (
    st.binary()
    | st.text()
    | VALUES.map(json.dumps)
    | VALUES.map(lambda value: json.dumps(value, ensure_ascii=False))
)
ODD = (
    *('"\\ud800"', '"\ud800"', "\ufeff[1]", "[NaN]", "[1e999]", "[-0]", "[01]"),
    *("[1,]", '{"a":1,"a":2}', '"\x01"', '"\x7f"', "[18446744073709551616]", "1 2"),
    *("[" * depth + "]" * depth for depth in (250, 251, 254, 255, 2000)),
)


def outcome(act: Callable[..., Any], *args: Any, **options: Any) -> str:
    try:
        return repr(act(*args, **options))
    except (ValueError, TypeError) as exc:
        return f"{type(exc).__name__}: {exc}"


def without(act: Callable[..., Any]) -> Callable[..., Any]:
    """As in a process that has not imported orjson yet."""

    def acted(*args, **options):
        with pytest.MonkeyPatch.context() as patch:
            patch.delitem(sys.modules, "orjson")
            return act(*args, **options)

    return acted


@given(TEXTS)
def test_a_text_is_read_as_orjson_reads_it(text):
    assert outcome(without(plain_json.loads), text) == outcome(orjson.loads, text)


@pytest.mark.parametrize("text", ODD, ids=lambda text: ascii(text)[:20])
def test_a_text_on_which_readers_differ(text):
    assert outcome(without(plain_json.loads), text) == outcome(orjson.loads, text)


@given(VALUES, st.booleans(), st.booleans())
def test_a_value_is_written_as_orjson_writes_it(value, indented, sort_keys):
    option = orjson.OPT_INDENT_2 if indented else 0
    option |= orjson.OPT_SORT_KEYS if sort_keys else 0
    how = {"indented": indented, "sort_keys": sort_keys}

    written = outcome(without(plain_json.dumps), value, **how)

    assert written == outcome(orjson.dumps, value, option=option)


@pytest.mark.parametrize("value", ["\ud800", {1: 2}, 2**64, (1, "x"), object, [{}]])
def test_a_value_on_which_writers_differ(value):
    assert outcome(without(plain_json.dumps), value) == outcome(orjson.dumps, value)
