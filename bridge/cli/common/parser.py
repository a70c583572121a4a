"""Reads the options of a command.

Options and arguments may come in any order; after `--` everything is an argument. A
word with white space in it is an argument, too, even if it begins with a dash.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from bridge.cli.common.options import COMMON, Option
from bridge.errors import InvalidRequest

# What argparse says is matched below: it must be English. It would also load the tables
# of all locales, and look for translations on the disk, several times a command.
argparse._ = str  # type: ignore[attr-defined]

# Nothing on a command line can begin with this: every word is an argument.
_NO_PREFIX = "\0"
_CHOICE = "^(.*): invalid choice: '(.*)' .choose from (.*).$"
# What argparse says, and what we say instead.
_WORDINGS = (
    (r"^(argument )?(-\w/)?", ""),
    ("ignored explicit argument (.*)", r"takes no value, got \1"),
    ("expected one argument", "expected a value"),
    (r"not allowed with argument (-\w/)?(.*)", r"cannot go with \2"),
    ("the following arguments are required: ", "missing: "),
    ("unrecognized arguments: ", "one argument too many: "),
)


class UsageError(InvalidRequest):
    """The command must be called differently."""

    code = "usage"


class _Parser(argparse.ArgumentParser):
    """Raises what is wrong, where argparse prints it and exits."""

    def __init__(self, prog: str, options: Sequence[Option], **more: Any) -> None:
        # Without a width, argparse imports shutil to ask the terminal.
        layout = partial(argparse.HelpFormatter, width=80)
        more |= {"add_help": False, "allow_abbrev": False, "formatter_class": layout}
        super().__init__(prog, **more)
        together: dict[str, Any] = {}
        for option in options:
            if option.apart and option.apart not in together:
                together[option.apart] = self.add_mutually_exclusive_group()
            place = together[option.apart] if option.apart else self
            place.add_argument(*option.names, **option.settings)

    def _parse_optional(self, arg_string: str) -> Any:
        first = arg_string.split(maxsplit=1)[:1]
        is_words = first != [arg_string] and "=" not in "".join(first)
        return None if is_words else super()._parse_optional(arg_string)

    def error(self, message: str) -> NoReturn:
        for said, meant in _WORDINGS:
            message = re.sub(said, meant, message)
        if found := re.search(_CHOICE, message):
            from bridge.hints import did_you_mean

            option, got, listed = found.groups()
            known = re.findall(r"[\w-]+", listed)
            # An argument's name is that list, or a word for it.
            named = f"{option}: " if option.startswith("-") else ""
            message = f"{named}expected {', '.join(known)}, got {got!r}"
            message += did_you_mean(got, known)
        raise UsageError(f"{_named(self.prog)}: {message}; see `{self.prog} --help`")


def is_help(words: Sequence[str]) -> bool:
    """Whether these words ask for a command's help."""
    return any(word in ("-h", "--help") for word in _before_dashes(words))


def parse(
    prog: str, options: Sequence[Option], words: Sequence[str]
) -> argparse.Namespace:
    """The options and arguments in `words`, and `prog`.

    Raises:
        UsageError: an option is unknown or wrong, or an argument is missing.
    """
    found, others = _flags_in(prog, options, words)
    return _with_arguments(prog, options, others, found)


def parse_verb(
    prog: str, verbs: Mapping[str, Sequence[Option]], words: Sequence[str]
) -> argparse.Namespace:
    """The same for a command with verbs, and the `verb`, the first if none is named.

    Options may stand before the verb, too.

    Raises:
        UsageError: also if there is no such verb, or the verb has no such option.
    """
    options = {each.names: each for those in verbs.values() for each in those}
    found, others = _flags_in(prog, [*options.values()], words)
    settings = {"nargs": "?", "default": next(iter(verbs)), "choices": (*verbs,)}
    verb = Option(("verb",), settings)
    _with_arguments(prog, [verb], others[:1], found)
    prog = f"{prog} {found.verb}"
    known = [each.names for each in verbs[found.verb]]
    for each in options.values():
        if each.is_flag and each.names not in known and each.is_given(found):
            takes = ", ".join(names[-1] for names in known if names[0][0] == "-")
            what = f"takes no {each.names[-1]}; it takes {takes}"
            raise UsageError(f"{_named(prog)} {what}")
    return _with_arguments(prog, verbs[found.verb], others[1:], found)


def _flags_in(
    prog: str, options: Sequence[Option], words: Sequence[str]
) -> tuple[argparse.Namespace, list[str]]:
    """The options in `words`, and the other words."""
    flags = [*(option for option in options if option.is_flag), *COMMON]
    arguments = [option for option in options if not option.is_flag]
    before = _before_dashes(words)
    flag_parser = _Parser(prog, flags)
    found, others = flag_parser.parse_known_args(before)
    for word in others:
        # `-1` is a number that is too small, and no option.
        is_text = word == "-" or word[1:].isdigit() or any(map(str.isspace, word))
        if word.startswith("-") and not is_text:
            flag_parser.error(_no_such_option(word, flags, arguments))
    # What has a meaning of its own to a few commands.
    found.after_dashes = words[len(before) + 1 :] if "--" in words else None
    return found, [*others, *(found.after_dashes or ())]


def _with_arguments(
    prog: str,
    options: Sequence[Option],
    words: Sequence[str],
    found: argparse.Namespace,
) -> argparse.Namespace:
    """The same options, with the arguments in the words beside them."""
    arguments = [option for option in options if not option.is_flag]
    argument_parser = _Parser(prog, arguments, prefix_chars=_NO_PREFIX)
    found.prog = prog
    return argument_parser.parse_args(words, found)


def _named(prog: str) -> str:
    """A command as errors name it, without the program."""
    return prog.removeprefix("hostbridge ")


def only_for(options: argparse.Namespace, verbs: Sequence[str], *names: str) -> None:
    """Refuse options that another use of a command takes.

    Raises:
        InvalidRequest: one of these was given, and `what` is none of the verbs.
    """
    if options.what not in verbs and any(getattr(options, name) for name in names):
        flags = [f"--{name.replace('_', '-')}" for name in names]
        *others, last = flags
        listed = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        raise InvalidRequest(f"{listed} for: {options.prog} {'|'.join(verbs)}")


def _no_such_option(
    word: str, flags: Sequence[Option], arguments: Sequence[Option]
) -> str:
    from bridge.hints import close

    option = word.partition("=")[0]
    name = option.lstrip("-").upper()
    given = " ".join(each.settings["metavar"] for each in arguments)
    if name in re.findall("[A-Z]+", given):
        return f"no such option: {option} (the {name} is given without one)"
    # Without the dashes, which are alike in all.
    names = {n.lstrip("-"): n for flag in flags for n in flag.names}
    if near := close(option.lstrip("-"), names):
        return f"no such option: {word} (did you mean {names[near[0]]}?)"
    hint = f" (if it is no option, put -- before it: -- {word})" if arguments else ""
    return f"no such option: {word}{hint}"


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: [*words, "--"].index("--")]
