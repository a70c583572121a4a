"""What was read of a command, and what can be asked about it. Pure."""

from __future__ import annotations

import re

from bridge.policy.bash_parser import UNKNOWN, Word
from bridge.policy.condition import MAY, matches
from bridge.policy.wrapper_table import GLOBALS
from bridge.policy.wrappers import CLOSED, next_operand, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# What a shell puts something else for: an expansion, braces, letters in brackets.
_OPEN = re.compile(rf"{UNKNOWN}|\{{[^}}]*\}}|\[[^]]*\]")
# Variables that hold a command, or a file of commands, for other programs.
_HOOKS = re.compile(
    r"(\w*(?:PAGER|EDITOR|VISUAL|BROWSER|COMMAND|ASKPASS|WRAPPER|GIT_SSH|EXTERNAL_DIFF)"
    r"|BASH_ENV|ENV|LESSOPEN|PYTHONSTARTUP)=(.*)", re.S,
)  # fmt: skip


class Reading:
    """What a command would start.

    Attributes:
        started: the words of each program that its text says it starts.
        perhaps: the same of those that may be something else, or never run.
        opaque: text that cannot be read as a command; None where it is not known.
        problems: why something could not be read, in words for a person.
        is_hidden: whether a shell reads text of which nothing is known.
    """

    def __init__(self) -> None:
        self.started: list[list[str]] = []
        self.perhaps: list[list[str]] = []
        self.opaque: list[str | None] = []
        self.problems: list[str] = []
        self.is_hidden = False

    def assigned(self, words: Sequence[str]) -> None:
        """Note what variables hold that other programs start: `PAGER=x git log`."""
        found = [hook[2] for word in words if (hook := _HOOKS.match(word))]
        self.opaque += [text.replace(UNKNOWN, "") for text in found]

    def runs(self, names: Sequence[str]) -> Any:
        """True, False or MAY: whether one of these programs is started.

        A name with more words names a subcommand: `git push` is also `git -C x push`.
        """
        wanted = [name.split() for name in names]
        answers = [is_call_of(words, one) for words in self.started for one in wanted]
        if True in answers:
            return True
        if None in answers or self.problems:
            return MAY
        if any(
            is_call_of(words, one) is not False
            for words in self.perhaps
            for one in wanted
        ):
            return MAY
        texts = [one if one is None else _plain(one) for one in self.opaque]
        hidden = any(one is None or name[0] in one for one in texts for name in wanted)
        return MAY if hidden else False

    def hides(self, names: Sequence[str]) -> Any:
        """The same of programs whose names do not stand in the command's text."""
        wanted = [name.split() for name in names]
        if any(is_call_of(words, one) for words in self.started for one in wanted):
            return True
        all_words = [*self.started, *self.perhaps]
        is_open = any(_could_be(words, one) for words in all_words for one in wanted)
        return MAY if is_open or self.is_hidden or self.problems else False

    def words(self) -> Any:
        """Every word of every program that is started; MAY if some cannot be read."""
        if self.problems or None in self.opaque:
            return MAY
        all_words = [*self.started, *self.perhaps]
        return [
            one.raw if UNKNOWN in one and isinstance(one, Word) else one
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
    if name == "git" and any("alias." in word.lower() for word in rest):
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


def _could_be(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a program can be what a name means, as far as its text tells."""
    is_call = is_call_of(words, wanted)
    if is_call is not None or program(words[0]) is not None:
        return is_call is not False
    glob = _OPEN.sub("*", words[0].rpartition("/")[2])
    if not matches(wanted[0], glob):
        return False
    rest = is_call_of([wanted[0], *words[1:]], wanted)
    if glob.strip("*?"):
        return rest is not False
    # `$PY setup.py` is usual: all the rest must be there.
    return len(wanted) > 1 and rest is True


def _has_braces(word: str) -> bool:
    """Whether a shell makes more words of one: `{push,}`."""
    raw = word.raw if isinstance(word, Word) else ""
    return re.search(r"\{[^}]*(?:,|\.\.)", CLOSED.sub("", raw)) is not None


def _plain(text: str) -> str:
    return re.sub(r"[\\'\"\n]", "", text)
