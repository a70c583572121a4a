"""The help of a command, in as many columns as the terminal has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.cli.screen.screen import columns_of, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

    from bridge.cli.common.options import Option
    from bridge.cli.common.verbs import Verb

# Longer lines are hard to read.
_WIDEST = 100
_LEFT_WIDTH = 26


def help_text(prog: str, module: ModuleType) -> str:
    """The help of a command: usage, its docstring, verbs or arguments, and options.

    The docstring's last paragraph, the examples, ends it.
    """
    *paragraphs, examples = (module.__doc__ or "").strip().split("\n\n")
    options: Sequence[Option] = getattr(module, "OPTIONS", ())
    verbs: dict[str, Verb] = getattr(module, "VERBS", {})
    usage = getattr(module, "USAGE", "[VERB] ..." if verbs else "")
    if verbs:
        rows = [(f"{n} {_usage(v.options)}".strip(), v.about) for n, v in verbs.items()]
        more = f"`{prog} VERB --help` shows the options of a verb."
        paragraphs += [f"Verbs:\n{table(rows)}", more]
    return _help(prog, usage, paragraphs, options, examples)


def verb_help(prog: str, name: str, verb: Verb) -> str:
    """The help of one verb of a command."""
    return _help(f"{prog} {name}", "", [verb.about], verb.options)


def _help(
    prog: str,
    usage: str,
    paragraphs: Iterable[str],
    options: Sequence[Option],
    *end: str,
) -> str:
    from bridge.cli.common.options import COMMON

    usage = f"Usage: {prog} {usage or _usage(options)} [OPTIONS]"
    sections = [_filled(" ".join(usage.split()), " " * 9), *map(_paragraph, paragraphs)]
    said = (each.settings for each in options if not each.is_flag)
    rows = [(each["metavar"], each["help"]) for each in said]
    sections += [f"Arguments:\n{table(rows)}"] if rows else []
    flags = [option for option in options if option.is_flag]
    for heading in dict.fromkeys(flag.heading for flag in flags):
        rows = [_row(flag) for flag in flags if flag.heading == heading]
        sections.append(f"{heading}:\n{table(rows)}")
    sections.append(f"Everywhere:\n{table(map(_row, COMMON))}")
    return "\n\n".join([*sections, *end])


def _usage(options: Sequence[Option]) -> str:
    return " ".join(_in_usage(option) for option in options if not option.is_flag)


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
    """A paragraph as wide as fits; a table, or what is to be copied, as it is."""
    is_whole = text.startswith((" ", "Verbs:\n"))
    return text if is_whole else _filled(" ".join(text.split()))


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
    match argument.settings.get("nargs"):
        case "?":
            return f"[{metavar}]"
        case "+":
            return f"{metavar}..."
        case "*" if "[" not in metavar and "..." not in metavar:
            return f"[{metavar}...]"
    return metavar
