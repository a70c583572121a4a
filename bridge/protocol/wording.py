"""Text in messages: on one line, cut short, without what controls a terminal."""

import re

MAX_LINE = 160
# What a user is told beside a turn.
MAX_NOTE = 400
_SPACE = re.compile(r"\s+")
_TICKS = re.compile("`+")
# These are invisible, too, though they count as letters, marks or symbols. They can
# hide from people what a model reads.
# Source: Unicode, DerivedCoreProperties.txt, Default_Ignorable_Code_Point; and blanks:
# U+2800, U+13441, U+13442, U+16FE4, U+1D159.
_BLANK = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
    | {0x13441, 0x13442, 0x16FE4, 0x1D159}
    | {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
)


def seconds(value_s: float) -> str:
    """Seconds to the millisecond: `0.25 s`, `120 s`, `2,592,000 s`."""
    text = f"{value_s:,.3f}".rstrip("0").rstrip(".")
    return f"{text} s"


def shortened(text: str, limit: int) -> str:
    """The text, cut after `limit` characters."""
    return text if len(text) <= limit else text[:limit] + "…"


def fitted(text: str, most: int) -> str:
    """The text if it has at most `most` characters; otherwise so many, with `…`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quoted(value: object, limit: int = 60) -> str:
    """A value of any kind as Python writes it, cut after `limit` characters."""
    if isinstance(value, str):
        return repr(shortened(value, limit))
    try:
        return shortened(repr(value), limit)
    except Exception:  # noqa: BLE001 - a number may be too long to be written
        return f"(a {type(value).__name__})"


def in_shell(*words: object) -> str:
    """A command as any shell takes it: what a shell would obey is quoted."""
    import shlex  # hooks load this module, and print few commands

    return shlex.join(map(str, words))


def fenced(text: str, language: str = "") -> str:
    """Data of others in a prompt, in a fence of Markdown that it cannot close."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def one_line(text: str, most: int = MAX_LINE) -> str:
    """The text on one line that can be printed, of `most` characters at most."""
    words = " ".join(text[: 4 * most].split())
    line = "".join(filter(str.isprintable, words))
    return fitted(line, most)


def escaped(text: str) -> str:
    r"""The text with what is not printed, an end of a line among it, as `\u2028`."""
    if text.isprintable():
        return text
    odd = {ord(c): repr(c)[1:-1] for c in set(text) if not c.isprintable()}
    return text.translate(odd)


def clean(text: str, most: int) -> str:
    """The text without control characters, of `most` characters at most."""
    text = text[: 2 * most]
    # Most texts are clean, which is quick to see: what is printable is not in C.
    if not text.replace("\n", "").isprintable():
        from unicodedata import category

        # Category C includes the bidirectional controls: they reorder what is read.
        text = "".join(c for c in text if c in "\n\t" or category(c)[0] != "C")
        # Not every program ends a line there.
        text = text.translate({0x2028: " ", 0x2029: " "})
    return fitted(text, most)


def unseen(text: str, *, kept: str = "") -> set[str]:
    """The characters of a text that a terminal obeys or hides, except `kept`."""
    from unicodedata import category

    return {
        char
        for char in set(text) - set(kept)
        # Separators, too: not every program ends a line there, and blanks look alike.
        if (kind := category(char)[0]) == "C"
        or (kind == "Z" and char != " ")
        or ord(char) in _BLANK
    }


def squeezed(text: str) -> str:
    """The text on one line, with single blanks."""
    return _SPACE.sub(" ", text).strip()
