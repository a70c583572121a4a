"""Times in messages."""

from __future__ import annotations

import pytest

from bridge.protocol.wording import seconds, shortened


@pytest.mark.parametrize(
    ("value_s", "words"),
    [
        (0.25, "0.25 s"),
        (0.0, "0 s"),
        (120.0, "120 s"),
        (86_400, "86,400 s"),
        (2_592_000.0, "2,592,000 s"),
    ],
)
def test_seconds(value_s, words):
    assert seconds(value_s) == words


def test_long_text_is_cut():
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "abc…"
