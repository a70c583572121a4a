"""Which commands of hostbridge a model must not run: they are for its user. Pure.

They undo or raise what the user set. This advises a model before it tries, so that it
asks its user instead. It holds nobody up: a shell has more ways to run a command than
are looked for here. What holds is that the commands themselves refuse to run inside a
session (`bridge.agents.trust`).
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from bridge.policy.shell_commands import SHELLS, Reader, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A longer command is not read as a shell would: only the plain words count there.
MAX_READ = 32_768
# A shell that starts a shell, and so on.
_MAX_DEPTH = 4

# The words that follow the program.
FOR_THE_USER = (
    ("trust",), ("on",), ("config", "set"), ("config", "unset"), ("agents", "new"),
)  # fmt: skip
# With one of these, a command only shows something, or takes back.
_HARMLESS = frozenset({"--list", "--revoke", "--help", "-h"})
# A definition in a project waits for trust, unlike one of the user's own.
_HARMLESS_NEW = _HARMLESS | {"--project"}
_PLAIN = re.compile(
    r"^[ \t]*hostbridge (trust|on|config (?:un)?set|agents new)(?![\w-])", re.M
)
_PYTHON = re.compile(r"python[\d.]*")
_MODULE = re.compile(r"bridge(\.__main__|\.cli\.\w+)?")
_EVALUATES = re.compile(r"-\w*c")


def find_refused(command: str) -> str | None:
    """The first command for the user alone that a shell command would run.

    Takes time in proportion to the length of the command.
    """
    if len(command) > MAX_READ:
        plain = _PLAIN.search(command)
        return f"hostbridge {plain[1]}" if plain else None
    return _find(command, _MAX_DEPTH)


def _find(text: str, depth: int) -> str | None:
    if not depth or "bridge" not in text:
        return None
    reader = Reader(text)
    for words in reader.commands():
        found = _refused(words)
        for inner in () if found else _evaluated(words):
            found = found or _find(inner, depth - 1)
        if found:
            return found
    return next(filter(None, (_find(each, depth - 1) for each in reader.texts)), None)


def _evaluated(words: Sequence[str]) -> Iterator[str]:
    """The texts that a command runs as shell commands."""
    if words[0] == "eval":
        yield " ".join(words[1:])
    elif name_of(words[0]) in SHELLS:
        for option, text in pairwise(words):
            if _EVALUATES.fullmatch(option):
                yield text


def _refused(words: Sequence[str]) -> str | None:
    rest = _ours(words)
    asked = tuple(_arguments(rest))
    options = rest[: rest.index("--")] if "--" in rest else rest
    for refused in FOR_THE_USER:
        harmless = _HARMLESS_NEW if "new" in refused else _HARMLESS
        if asked[: len(refused)] == refused and harmless.isdisjoint(options):
            return f"hostbridge {' '.join(refused)}"
    return None


def _ours(words: Sequence[str]) -> Sequence[str]:
    """The words after our program; none if it is another."""
    name = name_of(words[0])
    if name.partition("@")[0] == "hostbridge":
        return words[1:]
    if _PYTHON.fullmatch(name):
        for at, word in enumerate(words):
            if word == "-m" and _MODULE.fullmatch("".join(words[at + 1 : at + 2])):
                return words[at + 2 :]
            if word.startswith("-m") and _MODULE.fullmatch(word[2:]):
                return words[at + 1 :]
    return ()


def _arguments(words: Sequence[str]) -> Iterator[str]:
    """The words without options, and without the folder of `-C`."""
    before = ""
    for word in words:
        if before not in ("-C", "--directory") and not word.startswith("-"):
            yield word
        before = word
