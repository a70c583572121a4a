"""Words on a screen: they fit, and their colour is ours alone."""

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bridge.cli.screen.screen import (
    Styled,
    cells,
    cut,
    folded,
    printed,
    screen_of,
    wrapped,
)
from bridge.cli.screen.table import Column, table
from bridge.config import colour_is_wanted

COLUMNS = (Column("ID"), Column("STATE", least=4, spare=1), Column("WORDS", least=6))


def drawn(rows, width):
    return printed(table(COLUMNS, rows, width), colour=False).split("\n")


def test_a_table_as_wide_as_its_words():
    wide = ["ID   STATE  WORDS", "a-1  open   yes and no", "b           no"]

    assert drawn([("a-1", "open", "yes and no"), ("b", "", "no")], 80) == wide


def test_the_widest_column_is_cut_first():
    row = ("1k0x2hf9af8", "not here", "words of any length")

    assert drawn([row], 36)[1] == "1k0x2hf9af8  not here  words of any…"


def test_what_can_be_spared_is_left_out_and_no_id_is_cut():
    row = ("1k0x2hf9af8", "open", "words of any length")

    assert drawn([row], 20) == ["ID           WORDS", "1k0x2hf9af8  words…"]
    assert drawn([row], 8)[1].startswith("1k0x2hf9af8  ")


def test_wide_characters_take_two_columns():
    rows = [("a", "x", "日本語のテキスト"), ("b", "y", "abc")]

    shown = drawn(rows, 20)

    assert shown[1] == "a   x      日本語の…"
    assert max(map(cells, shown)) <= 20
    assert cut("日本語", 4) == "日…"


def test_a_pipe_gets_every_column_whole_between_tabs():
    """Also the empty ones: scripts count them."""
    rows = [("a", "", "long " * 50), ("b", "", "tab\tand\nline")]

    assert drawn(rows, None) == [
        "ID\tSTATE\tWORDS",
        "a\t\t" + ("long " * 50).rstrip(),
        "b\t\ttab and line",
    ]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 9, ["  one two", "  three"]),
        ("one two\n\nthree", 80, ["  one two", "  ", "  three"]),
        ("abcdefghijklm no", 8, ["  abcdef", "  ghijkl", "  m no"]),
        ("    far in it", 10, ["      far", "      in", "      it"]),
        ("日本語日本語", 8, ["  日本語", "  日本語"]),
        ("as\tit is", None, ["  as\tit is"]),
        ("as\tit is", 80, ["  as  it is"]),
        ("\tin it", 9, ["     in", "     it"]),
    ],
)
def test_long_lines_go_on_below(text, width, lines):
    assert list(wrapped(text, width, "  ")) == lines


# Accents that stand alone take no room.
ODD_WORDS = st.text("a\u0301\u0e31\u200d日 \t\n", max_size=60)


@example("x" * 18 + " \u0301 y", 20)
@given(ODD_WORDS, st.integers(8, 20))
def test_nothing_is_lost_and_everything_fits(text, width):
    lines = list(wrapped(text, width, "  ", below=" "))

    assert "".join("".join(lines).split()) == "".join(text.split())
    assert max(map(cells, lines)) <= width


def test_paths_are_not_divided():
    lines = list(wrapped("there is no /home/u/app/folder", 14, whole_words=True))

    assert lines == ["there is no", "/home/u/app/folder"]


def test_what_goes_on_is_further_in():
    """But not a long path that begins a line."""
    path = "/home/u/app/folder"

    lines = list(folded([path, f"one two {path} three"], 12, whole_words=True))
    word = list(folded(["abcdefghijklmn"], 10, whole_words=False))

    assert lines == [path, "one two", f"    {path}", "    three"]
    assert word == ["abcdef", "    ghijkl", "    mn"]


def test_escape_sequences_come_from_styles_alone():
    hostile = "\x1b[31mred\x1b[0m"

    line = (Styled(hostile, "green"), " ", hostile)

    assert printed([line], colour=True) == "\x1b[32m[31mred[0m\x1b[0m [31mred[0m"
    assert printed([line], colour=False) == "[31mred[0m [31mred[0m"
    assert printed([f"{Styled('x', 'red')}"], colour=True) == "x"


@pytest.mark.parametrize(
    ("env", "in_pipe", "on_terminal"),
    [
        ({"TERM": "xterm"}, False, True),
        ({}, False, True),
        ({"TERM": "dumb"}, False, False),
        ({"CLICOLOR": "0"}, False, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, False, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
    ids=str,
)
def test_who_gets_colour(env, in_pipe, on_terminal):
    """As no-color.org, and as Python itself: NO_COLOR wins over FORCE_COLOR."""
    assert colour_is_wanted(is_terminal=False, env=env) is in_pipe
    assert colour_is_wanted(is_terminal=True, env=env) is on_terminal


def test_no_terminal_has_no_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")

    assert screen_of(io.StringIO()).width is None
