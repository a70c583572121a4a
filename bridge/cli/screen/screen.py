"""How wide a stream is, whether it shows colour, and how words are fitted into it.

On a terminal no line is wider than it, but for a word that is: ids and paths are there
to be copied. Where there is no terminal nothing is cut, wrapped or coloured.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, Self, TextIO

from bridge.config import asked_columns, colour_is_wanted
from bridge.protocol.wording import clean

Style = Literal["bold", "dim", "red", "green", "yellow", "cyan"]
_CODES: dict[Style, int] = {
    "bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36,
}  # fmt: skip
_USUAL = 80


class Styled(str):
    """Words with a style. Joined to others they lose it: words from outside have none.

    Escape sequences are made only where a line is printed, after it was cleaned.
    """

    __slots__ = ("style",)
    style: Style

    def __new__(cls, words: str, style: Style) -> Self:
        """Give the words a style."""
        self = super().__new__(cls, words)
        self.style = style
        return self


# Some words, or several pieces side by side.
Line = str | tuple[str, ...]


class Screen(NamedTuple):
    """What a stream can show; `width` is None where there is no terminal."""

    width: int | None = None
    colour: bool = False


def screen_of(stream: TextIO) -> Screen:
    """What a stream can show: COLUMNS or the terminal itself says how wide it is."""
    is_terminal = stream.isatty()
    colour = colour_is_wanted(is_terminal=is_terminal)
    return Screen(columns_of(stream.fileno()) if is_terminal else None, colour)


def columns_of(fd: int) -> int:
    """How wide a terminal is."""
    try:
        return asked_columns() or os.get_terminal_size(fd).columns or _USUAL
    except OSError:
        return _USUAL


def printed(lines: Iterable[Line], *, colour: bool) -> str:
    """The lines as they are written: each piece cleaned, then coloured."""
    return "\n".join(_printed(line, colour=colour) for line in lines)


def _printed(line: Line, *, colour: bool) -> str:
    if isinstance(line, tuple):
        return "".join(_printed(piece, colour=colour) for piece in line)
    words = clean(line, len(line))
    if colour and words and isinstance(line, Styled):
        return f"\x1b[{_CODES[line.style]}m{words}\x1b[0m"
    return words


def cells(text: str) -> int:
    """How many columns a text takes: wide characters take two."""
    if text.isascii():
        return len(text)
    # Late: it takes as long as all the rest of `status`.
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """The text, with an ellipsis at its end if it does not fit."""
    if cells(text) <= width:
        return text
    if text.isascii():
        short = text[: max(0, width - 1)]
    else:
        from rich.cells import set_cell_size

        short = set_cell_size(text, max(0, width - 1))
    return styled_as(text, short.rstrip() + "…")


def padded(text: str, width: int) -> str:
    """The text, filled up with blanks."""
    return styled_as(text, text + " " * (width - cells(text)))


def styled_as(text: str, words: str) -> str:
    """Other words in the style of a text."""
    return Styled(words, text.style) if isinstance(text, Styled) else words


def folded(
    lines: Iterable[Line], width: int | None, *, whole_words: bool
) -> Iterator[Line]:
    """The lines; long ones go on below, further in; those of pieces are left alone.

    So what goes on cannot pose as the next line.
    """
    for line in lines:
        if isinstance(line, tuple):
            yield line
        else:
            yield from wrapped(line, width, below="    ", whole_words=whole_words)


def wrapped(
    text: str,
    width: int | None,
    indent: str = "",
    *,
    below: str = "",
    whole_words: bool = False,
) -> Iterator[str]:
    """The lines of a text, moved in; long ones go on below, `below` further in.

    Words from outside cannot pose as lines of ours, however long they are. With
    `whole_words` a path or an id is not divided.
    """
    if width is not None:
        # A tab takes more than one column.
        text = styled_as(text, text.expandtabs(4))
    for line in text.splitlines() or [""]:
        if width is None or cells(indent) + cells(line) <= width:
            yield styled_as(text, indent + line)
        else:
            room = max(1, width - cells(indent))
            longest = room + 2 * len(line) if whole_words else room
            for part in _parts(line, room, longest, below):
                yield styled_as(text, indent + part)


def _parts(line: str, room: int, longest: int, below: str) -> Iterator[str]:
    """A line in parts, each as wide as there is room; between words if possible."""
    words = line.lstrip(" ")
    part = lead = line[: len(line) - len(words)][: room // 2]
    below = (lead + below)[: room // 2]
    for word in words.split(" "):
        longer = f"{part} {word}" if part.strip() else f"{part}{word}"
        if cells(longer) <= room:
            part = longer
            continue
        if part.strip():
            yield part
            lead = below
        *whole, rest = _chopped(word, longest - len(below))
        for each in whole:
            yield lead + each
            lead = below
        part = lead + rest
    yield part


def _chopped(word: str, longest: int) -> list[str]:
    """A word in parts of this width."""
    if word.isascii():
        return [word[at : at + longest] for at in range(0, len(word), longest)] or [""]
    from rich.cells import chop_cells

    # Nothing comes back of what takes no room: accents that stand alone.
    return chop_cells(word, longest) or [word]
