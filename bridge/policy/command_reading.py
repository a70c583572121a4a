"""What was read of a command, and what can be asked about it. Pure."""

from __future__ import annotations

import re

from bridge.policy.condition import MAY, holds
from bridge.policy.condition_globs import matches
from bridge.policy.shell_words import CLOSED, UNKNOWN, program, raw_of, written
from bridge.policy.wrapper_table import GLOBALS
from bridge.policy.wrappers import next_operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# What a shell puts something else for: an expansion, braces, letters in brackets.
_OPEN = re.compile(rf"{UNKNOWN}|\{{[^{{}}]*\}}|\[[^][]*\]")
# Variables that hold a command, or a file of commands, for other programs.
_HOOKS = re.compile(
    r"(\w*(?:PAGER|EDITOR|VISUAL|BROWSER|COMMAND|ASKPASS|WRAPPER|GIT_SSH|EXTERNAL_DIFF)"
    r"|GIT_CONFIG\w*|BASH_ENV|ENV|LESSOPEN|PYTHONSTARTUP|SHELL|PS[0-4])=(.*)", re.S,
)  # fmt: skip
_SETTING = re.compile(r"[A-Za-z_]\w*\+?=")
# More than a name: `!pytest` is a command to some editors.
_TEXT = re.compile(r"(?!\s*#[^\n]*\s*$).*[^\w./-]", re.S)
_DEFAULT = re.compile(r"\$\{[^{}\s:=+?-]{0,99}:?[-=+?]")
_MAX_SHOWN = 80
# How many words of a command say which subcommand it is.
_MOST_WORDS = 50


class Reading:
    """What a command would start.

    Attributes:
        whole: the command.
        started: the words of each program that its text says it starts.
        perhaps: the same of those that may be something else, or never run.
        foreign: arguments of a program that may start any of them; and that command.
        opaque: text that cannot be read as a command; whether all of it is known; and
            the command that it stands in.
        fed: commands that are given what another one prints.
        coded: commands with code that may start what a variable holds.
        values: what variables hold.
        bodies: the texts of here-documents.
        loose: texts from which an expansion may come: what a variable is set to.
        problems: why something could not be read, in words for a person.
        hidden: commands with which a shell reads text of which nothing is known.
        unclear: why the last answer was MAY.
    """

    def __init__(self, whole: str) -> None:
        self.whole = whole
        self.started: list[list[str]] = []
        self.perhaps: list[list[str]] = []
        self.foreign: list[tuple[list[str], str]] = []
        self.opaque: list[tuple[str, bool, str]] = []
        self.fed: list[str] = []
        self.coded: list[str] = []
        self.values: list[str] = []
        self.bodies: list[str] = []
        self.loose: list[str] = []
        self.problems: list[str] = []
        self.hidden: list[str] = []
        self.unclear = ""

    def assigned(self, words: Sequence[str]) -> None:
        """Note what variables hold that other programs start: `PAGER=x git log`."""
        for word in words:
            if _SETTING.match(word):
                self.values.append(word.partition("=")[2])
            if hook := _HOOKS.match(word):
                # `BASH_ENV=<(echo pytest)`: what stands in the expansion.
                text = raw_of(word) if UNKNOWN in word else hook[2]
                if hook[1].startswith("GIT_CONFIG"):
                    # It may be what an alias stands for.
                    text = f"git {text}"
                self.opaque.append((_values(text), True, written([word])))

    def runs(self, names: Sequence[str]) -> Any:
        """True, False or MAY: whether one of these programs is started.

        A name with more words names a subcommand: `git push` is also `git -C x push`.
        It is MAY where all of the name stands, and only a running shell can tell.
        """
        wanted = [name.split() for name in names]
        whole = f"{self.whole} {_values(self.whole)}"
        said = [one for one in wanted if holds(whole, one)]
        return self._answer(wanted, self.problems if said else [])

    def hides(self, names: Sequence[str]) -> Any:
        """The same of programs whose names do not stand in the command's text.

        No shell runs what is not its syntax; but where reading ended, anything may be.
        """
        unread = [one for one in self.problems if one.startswith("too many")]
        return self._answer([name.split() for name in names], unread)

    def _answer(self, wanted: list[list[str]], problems: list[str]) -> Any:
        """MAY, if a command is unclear or something cannot be read."""
        if any(is_call_of(words, one) for words in self.started for one in wanted):
            return True
        loose = _values(" ".join(self.loose))
        unclear = [
            written(words)
            for words in (*self.started, *self.perhaps)
            if any(_may_be(words, one, loose) for one in wanted)
        ]
        unclear += [
            origin
            for words, origin in self.foreign
            if any(_stands_among(words, one) for one in wanted)
        ]
        unclear += [
            origin
            for text, is_known, origin in self.opaque
            if any(
                holds(text if is_known else f"{_values(text)} {loose}", one)
                for one in wanted
            )
        ]
        printed = " ".join([loose, *self.bodies])
        if self.fed and any(holds(printed, one) for one in wanted):
            unclear += self.fed
        values = " ".join(self.values)
        if self.coded and any(holds(values, one) for one in wanted):
            unclear += self.coded
        why = [f"it cannot be read: {one}" for one in problems]
        why += [
            f"what `{_shortened(one)}` runs cannot be told from its text"
            for one in (*unclear, *self.hidden)
        ]
        if not why:
            return False
        self.unclear = why[0]
        return MAY

    def words(self) -> Any:
        """Every word of every program that is started; MAY if some cannot be read."""
        if self.problems or not all(is_known for _, is_known, _ in self.opaque):
            return MAY
        all_words = [*self.started, *self.perhaps]
        return [
            raw_of(one) if UNKNOWN in one else one
            for words in all_words
            for one in words
        ]


def is_call_of(words: Sequence[str], wanted: Sequence[str]) -> bool | None:
    """Whether a command is what a name means; None if only the shell knows."""
    name = program(words[0])
    if name is None:
        return None
    rest = words[1:]
    if len(wanted) > 1 and name == "-".join(wanted[:2]):
        # `git-push` is `git push`.
        name, rest = wanted[0], [wanted[1], *rest]
    if wanted[0] not in {name, words[0]}:
        return False
    if name == "git" and len(wanted) > 1:
        aliases = [word for word in rest if "alias." in word.lower()]
        if aliases and (
            UNKNOWN in "".join(aliases) or holds(" ".join(rest), wanted[1:])
        ):
            return None
    key = name
    for one in wanted[1:]:
        place = next_operand(rest, GLOBALS.get(key, frozenset()))
        if place is None:
            return False
        if UNKNOWN in rest[place] or _has_braces(rest[place]):
            return None
        if rest[place] != one:
            return False
        key, rest = f"{key} {one}", rest[place + 1 :]
    return True


def _may_be(words: Sequence[str], wanted: Sequence[str], loose: str) -> bool:
    """Whether a command is what a name means, or can be as far as its text tells."""
    is_call = is_call_of(words, wanted)
    if is_call is not None or program(words[0]) is not None:
        return is_call is not False
    if holds(f"{_values(written(words))} {loose}", wanted):
        return True
    glob = _OPEN.sub("*", words[0].rpartition("/")[2])
    if not matches(wanted[0], glob):
        return False
    rest = is_call_of([wanted[0], *words[1:]], wanted)
    if glob.strip("*?"):
        return rest is not False
    # `$PY setup.py` is usual: all the rest must be there.
    return len(wanted) > 1 and rest is True


def _values(text: str) -> str:
    """What expansions stand for apart from their names: `${X:-pytest}`."""
    return _DEFAULT.sub(" ", text)


def _stands_among(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a name begins somewhere among the arguments of a program."""
    return any(
        is_call_of(words[at : at + _MOST_WORDS], wanted) is not False
        if program(word) == wanted[0] or word == wanted[0]
        else _TEXT.match(word) and holds(word, wanted)
        for at, word in enumerate(words)
    )


def _has_braces(word: str) -> bool:
    """Whether a shell makes more words of one: `{push,}`."""
    return re.search(r"\{[^{}]*(?:,|\.\.)", CLOSED.sub("", raw_of(word))) is not None


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
