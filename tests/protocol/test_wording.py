"""Times in messages."""

import pytest

from bridge.protocol.wording import clean, one_line, seconds, shortened

SECONDS = [
    (0.25, "0.25 s"),
    (0.0, "0 s"),
    (120.0, "120 s"),
    (86_400, "86,400 s"),
    (2_592_000.0, "2,592,000 s"),
]


@pytest.mark.parametrize(("value_s", "words"), SECONDS)
def test_seconds(value_s, words):
    assert seconds(value_s) == words


def test_long_text_is_cut():
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "abc…"


def test_a_line_is_one_line():
    assert one_line("  a\n\tb \u2028 c ") == "a b c"
    assert one_line("a\x1b[31mb\u202e\ud800c") == "a[31mbc"
    assert one_line("abcdef", 4) == "abc…"


def test_a_clean_text_keeps_its_lines():
    assert clean("a\n\tb\x00\u202e\xa0c", 10) == "a\n\tb\xa0c"
    assert clean("ab\ncd", 4) == "ab\n…"
    assert clean("a\u2028b\u2029c", 10) == "a b c"
