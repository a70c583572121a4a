"""The help of a command, in as many columns as the terminal has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.cli.screen import columns_of, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.cli.options import Option

# Longer lines are hard to read.
_WIDEST = 100
_LEFT_WIDTH = 26


def help_text(prog: str, options: Sequence[Option], doc: str, usage: str = "") -> str:
    """The help of a command: usage, its module's docstring, arguments and options.

    The docstring's last paragraph, the examples, ends it.
    """
    from bridge.cli.options import COMMON

    arguments = [option for option in options if not option.is_flag]
    flags = [option for option in options if option.is_flag]
    *paragraphs, examples = doc.strip().split("\n\n")
    usage = usage or " ".join(map(_in_usage, arguments))
    sections = [
        _filled(" ".join(f"Usage: {prog} {usage} [OPTIONS]".split()), " " * 9),
        *map(_paragraph, paragraphs),
    ]
    if arguments:
        rows = [(a.settings["metavar"], a.settings["help"]) for a in arguments]
        sections.append("Arguments:\n" + table(rows))
    for heading in dict.fromkeys(flag.heading for flag in flags):
        rows = [_row(flag) for flag in flags if flag.heading == heading]
        sections.append(f"{heading}:\n" + table(rows))
    sections += ["Everywhere:\n" + table(map(_row, COMMON)), examples]
    return "\n\n".join(sections)


def table(rows: Iterable[tuple[str, str]], *, left_width: int = _LEFT_WIDTH) -> str:
    """Two columns; what is too long for the left one has a line of its own."""
    lines = []
    for left, right in rows:
        indent = " " * (left_width + 4)
        text = _filled(right, indent=indent)
        if len(left) <= left_width:
            text = f"  {left:<{left_width}}  {text.lstrip()}"
        else:
            lines.append(f"  {left}")
        lines.append(text)
    return "\n".join(lines)


def _paragraph(text: str) -> str:
    """A paragraph as wide as fits; what is moved in is to be copied, line by line."""
    return text if text.startswith(" ") else _filled(" ".join(text.split()))


def _filled(text: str, below: str = "", *, indent: str = "") -> str:
    width = min(columns_of(1), _WIDEST)
    return "\n".join(wrapped(text, width, indent, below=below, whole_words=True))


def _row(flag: Option) -> tuple[str, str]:
    *short, long = flag.names
    names = f"{short[0]}, {long}" if short else f"    {long}"
    settings = flag.settings
    value = settings.get("metavar") or "|".join(settings.get("choices", ()))
    return f"{names} {value}".rstrip(), settings["help"]


def _in_usage(argument: Option) -> str:
    metavar: str = argument.settings["metavar"]
    if argument.settings.get("nargs") == "?":
        return f"[{metavar}]"
    is_many = argument.settings.get("nargs") == "+"
    return f"{metavar}..." if is_many else metavar
