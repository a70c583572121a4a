"""What was read of a command, and what can be asked about it. Pure."""

from __future__ import annotations

import re

from bridge.policy.bash_parser import UNKNOWN, Word, written
from bridge.policy.condition import MAY
from bridge.policy.condition_globs import matches
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
_MAX_SHOWN = 80


class Reading:
    """What a command would start.

    Attributes:
        started: the words of each program that its text says it starts.
        perhaps: the same of those that may be something else, or never run.
        opaque: text that cannot be read as a command, None where it is not known; and
            the command that it stands in.
        problems: why something could not be read, in words for a person.
        hidden: commands with which a shell reads text of which nothing is known.
        unclear: why the last answer was MAY.
    """

    def __init__(self) -> None:
        self.started: list[list[str]] = []
        self.perhaps: list[list[str]] = []
        self.opaque: list[tuple[str | None, str]] = []
        self.problems: list[str] = []
        self.hidden: list[str] = []
        self.unclear = ""

    def assigned(self, words: Sequence[str]) -> None:
        """Note what variables hold that other programs start: `PAGER=x git log`."""
        found = [(word, hook[2]) for word in words if (hook := _HOOKS.match(word))]
        self.opaque += [
            (text.replace(UNKNOWN, ""), written([word])) for word, text in found
        ]

    def runs(self, names: Sequence[str]) -> Any:
        """True, False or MAY: whether one of these programs is started.

        A name with more words names a subcommand: `git push` is also `git -C x push`.
        """
        wanted = [name.split() for name in names]
        answers = [
            (is_call_of(words, one), words) for words in self.started for one in wanted
        ]
        if any(is_call for is_call, _ in answers):
            return True
        unclear = [written(words) for is_call, words in answers if is_call is None]
        unclear += [
            written(words)
            for words in self.perhaps
            if any(is_call_of(words, one) is not False for one in wanted)
        ]
        unclear += [
            origin
            for text, origin in self.opaque
            if text is None or any(one[0] in _plain(text) for one in wanted)
        ]
        return self._may(unclear)

    def hides(self, names: Sequence[str]) -> Any:
        """The same of programs whose names do not stand in the command's text."""
        wanted = [name.split() for name in names]
        if any(is_call_of(words, one) for words in self.started for one in wanted):
            return True
        unclear = [
            written(words)
            for words in (*self.started, *self.perhaps)
            if any(_could_be(words, one) for one in wanted)
        ]
        return self._may([*unclear, *self.hidden])

    def _may(self, unclear: list[str]) -> Any:
        """MAY, if a command is unclear or something cannot be read."""
        why = [f"it cannot be read: {one}" for one in self.problems]
        why += [
            f"what `{_shortened(one)}` runs cannot be told from its text"
            for one in unclear
        ]
        if not why:
            return False
        self.unclear = why[0]
        return MAY

    def words(self) -> Any:
        """Every word of every program that is started; MAY if some cannot be read."""
        if self.problems or any(text is None for text, _ in self.opaque):
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


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def _plain(text: str) -> str:
    return re.sub(r"[\\'\"\n]", "", text)
