"""Which commands of hostbridge a model must not run: they are for its user. Pure.

They undo or raise what the user set. The commands refuse by themselves below a session
(`bridge.agents.trust`); this tells the model before it tries.
"""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The words that follow the program.
FOR_THE_USER = (
    ("trust",), ("on",), ("config", "set"), ("config", "unset"), ("agents", "new"),
)  # fmt: skip
# With one of these, a command only shows something, or takes back.
_HARMLESS = frozenset({"--list", "--revoke", "--help", "-h"})
# A definition in a project waits for trust, unlike one of the user's own.
_HARMLESS_NEW = _HARMLESS | {"--project"}
_ENDS = re.compile(r"[;&|()<>]+\Z")
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*?)\n.*?^\s*\2\s*$", re.S | re.M)
_EVALUATES = re.compile(r"-\w*c|eval")


def find_refused(command: str) -> str | None:
    """The first command for the user alone that a shell command would run."""
    words = _words(command)
    for at, word in enumerate(words):
        if at and "bridge" in word and _EVALUATES.fullmatch(words[at - 1]):
            # The text of a shell that it starts.
            if " " in word and (found := find_refused(word)):
                return found
        elif _is_program(words, at):
            rest = list(takewhile(lambda w: not _ENDS.match(w), words[at + 1 :]))
            asked = tuple(_arguments(rest))
            for refused in FOR_THE_USER:
                harmless = _HARMLESS_NEW if "new" in refused else _HARMLESS
                if asked[: len(refused)] == refused and harmless.isdisjoint(rest):
                    return f"hostbridge {' '.join(refused)}"
    return None


def _words(command: str) -> list[str]:
    text = _HERE_DOCUMENT.sub(r"\3", command).replace("\n", " ; ").replace("`", " ; ")
    reader = shlex.shlex(text, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return list(reader)
    except ValueError:
        # An unclosed quote: no shell runs it, unless it reads it otherwise.
        return text.split()


def _is_program(words: Sequence[str], at: int) -> bool:
    if words[at] == "bridge":
        return words[at - 1 : at] == ["-m"]
    return words[at].rpartition("/")[2] == "hostbridge"


def _arguments(words: Sequence[str]) -> Iterator[str]:
    """The words without options, and without the folder of `-C`."""
    before = ""
    for word in words:
        if before != "-C" and not word.startswith("-"):
            yield word
        before = word
