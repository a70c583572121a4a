"""The folders in which the commands of a shell's text may start. Pure.

    cd src && make; ls          `make` in src, `ls` in src or where the text started
    pushd src; make             `make` anywhere

What the text says is what counts: functions and aliases that a shell already has are
not known here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING

from bridge.policy.shell_scanner import Scanner
from bridge.policy.shell_signs import (
    FOLDER,
    HERE,
    UNKNOWN_FOLDER,
    Reached,
    unquoted,
)
from bridge.policy.shell_words import MAX_LENGTH, UNKNOWN, raw_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.policy.shell_grammar import Found

_FOLDER = re.compile(FOLDER)
_MOVING = frozenset({"cd", "chdir", "pushd", "popd"})
# Builtins of bash and zsh that run other commands in the same shell, or change what
# the words after them mean.
_CHANGING = _MOVING | {
    ".", "alias", "autoload", "bind", "compgen", "complete", "coproc", "emulate",
    "enable", "eval", "fc", "mapfile", "readarray", "repeat", "sched", "setopt",
    "shopt", "source", "trap", "unalias", "zle", "zmodload",
}  # fmt: skip
# What may stand before the name of a builtin.
_BEFORE = frozenset({"-", "builtin", "command", "exec", "nocorrect", "noglob"})
# A word that a shell may turn into another: `{c,}d`, `c?`.
_EXPANDED = re.compile(r"[*?{\[]")
# A command of plain words alone.
_PLAIN = re.compile(r"(?!\s*\.\s)[\w./=:@%,+-]+(?: +[\w./=:@%,+-]+)*")


@dataclass(frozen=True, slots=True)
class Placed:
    """A command, and the folders in which it may start.

    If nobody can tell, that is `UNKNOWN_FOLDER`.
    """

    words: Sequence[str]
    folders: frozenset[str]


def placed(command: str) -> Iterator[Placed]:
    """Each command of a text, in the order in which it is read."""
    words = command.split()
    if _PLAIN.fullmatch(command) and _CHANGING.isdisjoint(words):
        yield Placed(words, frozenset({HERE}))
        return
    if len(command) > MAX_LENGTH or "CDPATH" in command:
        yield Placed(words, frozenset({UNKNOWN_FOLDER}))
        return
    found = Scanner(command)
    all_known = not found.problems and not found.functions
    known = _known(found) if all_known else 0
    yield from _moved(found.all_commands[:known], found)
    for one in found.all_commands[known:]:
        yield Placed(one.words, frozenset({UNKNOWN_FOLDER}))


def _known(found: Scanner) -> int:
    """How many commands start before one that changes the folder unread.

    Where that stands inside another command, it may come again: in a loop.
    """
    outermost = -1
    for position, one in enumerate(found.all_commands):
        is_outermost = one.frame is found.groups[0]
        if _may_move(one) and not (is_outermost and _target(one) is not None):
            return position + 1 if is_outermost else outermost + 1
        if is_outermost:
            outermost = position
    return len(found.all_commands)


def _moved(commands: Sequence[Found], found: Scanner) -> Iterator[Placed]:
    """Commands of which each that changes the folder names it."""
    reached = Reached()
    for one in commands:
        if one.frame is not found.groups[0]:
            yield Placed(one.words, reached.ever)
            continue
        yield Placed(one.words, reached.behind(one.before))
        if (target := _target(one)) is not None:
            reached.move(target)


def _target(one: Found) -> str | None:
    """The folder of a plain `cd FOLDER`."""
    if one.words[0] != "cd" or len(one.words) != len(("cd", "FOLDER")):
        return None
    raw = raw_of(one.words[1])
    return unquoted(raw) if not one.lead.strip() and _FOLDER.fullmatch(raw) else None


def _may_move(one: Found) -> bool:
    """Whether a command may change the folder of the shell that reads it."""
    words = [*dropwhile(lambda word: word in _BEFORE or word[0:1] == "-", one.words)]
    first = words[0] if words else ""
    raw = raw_of(first)
    return (
        UNKNOWN in first
        or (first != "[" and _EXPANDED.search(raw) is not None)
        or first in _CHANGING
        or not _MOVING.isdisjoint(one.words)
    )
