"""Reads the options of a command, and prints its help.

Options and arguments may come in any order; after `--` everything is an argument.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from bridge.cli.options import Option
from bridge.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

_HELP = ("-h", "--help")
# Nothing on a command line can begin with this: every word is an argument.
_NO_PREFIX = "\0"


class UsageError(InvalidRequest):
    """The command must be called differently."""

    code = "usage"


class _Parser(argparse.ArgumentParser):
    """Raises what is wrong, where argparse prints it and exits."""

    def __init__(
        self, prog: str, options: Sequence[Option] = (), width: int = 80, **more: Any
    ) -> None:
        # Without a width, each formatter imports shutil to ask the terminal.
        layout = partial(argparse.RawDescriptionHelpFormatter, width=width)
        more |= {"add_help": False, "allow_abbrev": False, "formatter_class": layout}
        super().__init__(prog, **more)
        for option in options:
            self.add_argument(*option.names, **option.settings)

    def error(self, message: str) -> NoReturn:
        name = self.prog.rpartition(" ")[2]
        problem = message.removeprefix("argument ")
        raise UsageError(f"{name}: {problem}; see `{self.prog} --help`")


def is_help(words: Sequence[str]) -> bool:
    """Whether these words ask for a command's help."""
    return any(word in _HELP for word in _before_dashes(words))


def parse(
    prog: str, options: Sequence[Option], words: Sequence[str]
) -> argparse.Namespace:
    """The options and arguments in `words`.

    Raises:
        UsageError: an option is unknown or wrong, or an argument is missing.
    """
    flags = [option for option in options if option.is_flag]
    arguments = [option for option in options if not option.is_flag]
    before = _before_dashes(words)
    flag_parser = _Parser(prog, flags)
    found, others = flag_parser.parse_known_args(before)
    for word in others:
        if word.startswith("-") and word != "-" and " " not in word:
            from difflib import get_close_matches

            known = [name for option in flags for name in option.names]
            near = get_close_matches(word, known, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            flag_parser.error(f"no such option: {word}{meant}")
    others += words[len(before) + 1 :]
    argument_parser = _Parser(prog, arguments, prefix_chars=_NO_PREFIX)
    return argument_parser.parse_args(others, found)


def help_text(prog: str, options: Sequence[Option], doc: str) -> str:
    """The help of a command: its module's docstring, arguments and options.

    The examples at the end of the docstring stay at the end.
    """
    import shutil
    import textwrap

    arguments = [option for option in options if not option.is_flag]
    flags = [option for option in options if option.is_flag]
    flags.append(Option(_HELP, {"action": "help", "help": "Show this message."}))
    width = shutil.get_terminal_size().columns - 2
    *paragraphs, examples = doc.strip().split("\n\n")
    parser = _Parser(
        prog,
        usage=" ".join(
            [prog, "[OPTIONS]", *(a.settings["metavar"] for a in arguments)]
        ),
        description="\n\n".join(textwrap.fill(p, width) for p in paragraphs),
        epilog=examples,
        width=width,
    )
    for title, group in (("arguments", arguments), ("options", flags)):
        add = parser.add_argument_group(title).add_argument
        for option in group:
            add(*option.names, **option.settings)
    return parser.format_help()


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: [*words, "--"].index("--")]
