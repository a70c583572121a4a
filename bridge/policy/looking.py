"""Commands that only look at files of the project. Pure.

The client runs such commands without asking. Where a session's mode lets it ask nobody
at all, and in a worktree, which is no folder of the session's, this list stands for its
judgement: it is shorter, and errs on the side of no. With the options named here, none
of these programs writes, runs another, follows a link that it finds, or reads a
configuration of the project.

Git reads one. It counts only at the root of an agent's own worktree, where that is the
project's own configuration, with which the client itself runs git in the project. In a
folder below, what looks like a bare repository would bring another one.

What goes below a folder shows all that lies there. What the user withholds may be part
of any change that git shows: where something is, git counts with names and with the
lines of a file that is named.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.policy.command_options import (
    NamedOptions,
    operands_of,
    read_named,
    why_not_covered,
)
from bridge.policy.command_rules import Command
from bridge.policy.shell_signs import BLANK, FOLDER, QUOTED, Reached, unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.policy.command_options import IsInside

_LOOKING = """
    basename [] *
    cat [-n -A -b -s] *
    cut [-d=* -f=* -c=*] *
    diff --no-dereference [-u -r -q -w -B -N] *
    dirname [] *
    du [-s -h -a -c -d=*] *
    echo [-n -e] *
    false [--]
    file [-b] *
    find [-name=* -iname=* -path=* -not -type=* -maxdepth=* -mindepth=* -size=*
        -print] *
    grep [-r -n -i -l -L -c -v -w -x -E -F -P -o -h -H -s -q -A=* -B=* -C=* -m=* -e=*
        --include=* --exclude=* --exclude-dir=* --color=*] *
    head [-n=* -c=*] *
    ls [-l -a -A -h -R -1 -t -r -S -d -F] *
    nl [-b=*] *
    pwd [--]
    realpath [] *
    rg [-n -i -l -c -v -w -F -o -S -A=* -B=* -C=* -g=* -t=* -e=* -m=* --files
        --hidden] *
    stat [-c=*] *
    tail [-n=* -c=*] *
    tr [-d -s] *
    tree [-a -d -L=* -I=*] *
    true [--]
    wc [-l -w -c -m] *
    which [-a] *
"""
_GIT_NAMES = """
    git blame [-w -e -L=* --] *
    git diff --name-only [--cached --staged -M --no-color --] *
    git diff --name-status [--cached --staged -M --no-color --] *
    git diff --stat [--cached --staged -M --no-color --] *
    git log [-0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -n=* --oneline --stat --name-only
        --name-status --no-color --follow --] *
    git ls-files [-m -o -d -t --others --modified --deleted --exclude-standard --] *
    git status [-s -b --short --branch --porcelain --] *
"""
_GIT_CHANGES = """
    git diff [-p -u -w -b -M -U=* --cached --staged --stat --numstat --shortstat
        --name-only --name-status --check --word-diff --no-color --no-ext-diff
        --no-textconv --] *
    git log [-0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -p -n=* -S=* -G=* --oneline --stat
        --name-only --name-status --no-color --no-ext-diff --no-textconv --follow --] *
    git show [-p -w --stat --name-only --name-status --no-color --no-ext-diff
        --no-textconv --] *
"""
# Programs that go below a folder, some only with `-r` or `-R`; and how many operands
# there are if one of them is a folder, and not what to look for.
_BELOW = {"diff": 1, "du": 1, "find": 1, "grep": 2, "ls": 1, "rg": 2, "tree": 1}
_WITH_R = frozenset({"grep", "ls"})
_BETWEEN = re.compile(r"(&&|\|\||[|;\n]|(?<![<>&])&(?![&>]))")
# Errors go nowhere, or to where the output goes; in quotes that is a word.
_ERRORS = re.compile(
    rf"({QUOTED})|[{BLANK}]2>(?:[{BLANK}]?/dev/null|&1)(?=[{BLANK}\n|;&]|\Z)", re.S
)
# `head -20` is `head -n 20`; `tail -1f` never ends.
_LINES = re.compile(rf"\A(head|tail) -(?=[0-9]+(?:[{BLANK}]|\Z))")
_CD = re.compile(rf"cd +({FOLDER})")
_GIT_IN = re.compile(rf"\Agit +-C +({FOLDER}) +")


def _rules(table: str) -> list[NamedOptions]:
    lines = re.split(r"\n {4}(?! )", table)
    rules = (read_named(" ".join(line.split())) for line in lines)
    return [rule for rule in rules if isinstance(rule, NamedOptions)]


_RULES = _rules(_LOOKING)
_GIT_NAME_RULES, _GIT_CHANGE_RULES = _rules(_GIT_NAMES), _rules(_GIT_CHANGES)


@dataclass(frozen=True, slots=True)
class Sight:
    """What may be looked at; paths are relative to where a command starts.

    Attributes:
        may_read: whether it may be read.
        may_search: whether all that lies below it may be.
        is_repository: whether git may run there.
        is_whole: whether nothing at all is withheld.
    """

    may_read: IsInside
    may_search: IsInside = lambda _: True
    is_repository: IsInside = lambda _: False
    is_whole: bool = True

    def below(self, folder: str) -> Sight:
        """The same for a command that starts in a folder."""

        def moved(ask: IsInside) -> IsInside:
            return lambda path: ask(posixpath.join(folder, path))

        return Sight(
            moved(self.may_read),
            moved(self.may_search),
            moved(self.is_repository),
            self.is_whole,
        )


def only_looks(command: str, sight: Sight) -> bool:
    """Whether a command only looks, as far as its text tells.

    Its parts are judged where each may run, and so is what it names there.
    """
    return all(
        _looks(part, sight.below(folder))
        for part, folders in _placed(command)
        for folder in folders
    )


def parts_of(command: str) -> list[str]:
    """The parts of a command, and the signs between them, by turns.

    It is split wherever a sign could separate two commands. If one stood in quotes, a
    part has a quote that is not closed, and is no plain command.
    """
    return [part.strip(BLANK) for part in _BETWEEN.split(_ERRORS.sub(r"\1", command))]


def _placed(command: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Each part of a command, and the folders in which it may run."""
    reached = Reached()
    parts = parts_of(command.strip(f"{BLANK}\n"))
    for sign, part in zip(["", *parts[1::2]], parts[::2], strict=True):
        yield part, reached.behind(sign)
        if moved := _CD.fullmatch(part):
            reached.move(unquoted(moved[1]))


def _looks(part: str, sight: Sight) -> bool:
    if moved := _CD.fullmatch(part):
        return sight.may_read(unquoted(moved[1]))
    if moved := _GIT_IN.match(part):
        part = _GIT_IN.sub("git ", part)
        sight = sight.below(unquoted(moved[1]))
    command = Command.of_line(_LINES.sub(r"\1 -n ", part))
    if not command.argv:
        return False
    rules = [*_RULES]
    if sight.is_repository("."):
        rules += [*_GIT_NAME_RULES, *(_GIT_CHANGE_RULES if sight.is_whole else ())]
    argv, text = command.argv, command.text
    return any(
        rule.is_about(argv)
        and not why_not_covered(rule, argv, sight.may_read, text, writes=False)
        and all(map(sight.may_search, _searched(rule, argv)))
        for rule in rules
    )


def _searched(rule: NamedOptions, argv: Sequence[str]) -> list[str]:
    """What a command may go below: the folders that it names, or its own."""
    program = rule.words[0]
    letters = {
        letter for word in argv if word[:1] == "-" != word[1:2] for letter in word
    }
    if program not in _BELOW or (program in _WITH_R and letters.isdisjoint("rR")):
        return []
    named = operands_of(rule, argv)
    return named if len(named) >= _BELOW[program] else [*named, "."]
