"""Which new files git ignores.

A line that git and pathspec may read in different ways hides nothing: a file that is
shown may be one too many, while one that is hidden may be somebody's trick. libgit2 is
not asked: it hides more than git, and some lines end its process.

Source: gitignore(5); git, wildmatch.c.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pygit2
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern
from pygit2.enums import ConfigLevel

from bridge.store.plain_file import open_plain

_MAX_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
# The part of pathspec's expressions for what lies in a folder that they name.
_BELOW = "ps_d"
# The lines that mean the same to git and to pathspec: a backslash stands before a sign
# that has a meaning without it, brackets hold plain signs and ranges, two stars stand
# between slashes, nothing else is doubled, no space but a blank is at the end, and a
# zero byte, which ends a line for git, is nowhere.
_PLAIN = re.compile(
    r"""!?(?!.*(?://|[^/]\*\*|\*\*[^/]))
        (?: [^\\\[\]\0]
          | \\[#!*?\[\]]
          | \[[!^]?(?:[^\\\[\]/&~|\0-]|-(?!-))+\]
        )*
        (?<!\s)""",
    re.VERBOSE | re.DOTALL,
)
# The parts of an expression of pathspec that git has otherwise: there brackets never
# fit a slash, and a path ends at its end, not before a last end of line.
_PART = re.compile(
    rb"(?P<same> \\. | \[\^/\] ) | (?P<brackets> \[[^\]]+\] ) | \$",
    re.VERBOSE | re.DOTALL,
)
# A star, and what stands between it and the next one in the same folder: each sign of
# that fits one byte, so the first place where it fits leaves the most to the rest.
_BETWEEN_STARS = re.compile(
    rb"""\[\^/\]\*
         ( (?: \\. | \(\?!/\)\[[^\]]+\] | \[\^/\](?![*+]) | [^\\\[\]/()*+] )+ )
         (?= \[\^/\]\* )""",
    re.VERBOSE | re.DOTALL,
)
# Each more of them looks along the path once more for each of its folders.
_ANY_FOLDERS = b"(?:/.+)?"
_MOST_ANY_FOLDERS = 3
_BRACKETS = re.compile(rb"\[([^\]]+)\]")
_RANGE = re.compile(rb".-.", re.DOTALL)
_CAPITAL = re.compile(rb"[A-Z]")


class _Rule(NamedTuple):
    """A line of a file: what it is about, and whether that is ignored."""

    expression: re.Pattern[bytes]
    only_folders: bool
    hides: bool

    def fits(self, path: bytes) -> bool:
        """Whether it is about this path itself, and not about a folder above it."""
        if self.only_folders and not path.endswith(b"/"):
            return False
        found = self.expression.search(path.removesuffix(b"/"))
        return found is not None and not found.groupdict().get(_BELOW)


_TAKES_BACK = _Rule(re.compile(b""), only_folders=False, hides=False)


class Ignored:
    """What git ignores in a project."""

    def __init__(
        self,
        project: Path,
        lib: pygit2.Repository | None = None,
        common: Path | None = None,
    ) -> None:
        """Without a repository, only files of patterns in the project count.

        `common` is the git folder that all work trees of `lib` share.
        """
        self._project = project
        self._any_case = False
        self._in_folder: dict[bytes, list[_Rule]] = {}
        self._of_all: list[list[_Rule]] = []
        if lib is not None and common is not None:
            key = "core.ignorecase"
            self._any_case = key in lib.config and lib.config.get_bool(key)
            files = (common / "info" / "exclude", _user_excludes(lib, project))
            self._of_all = [self._rules_in(file) for file in files if file is not None]

    def is_ignored(self, path: bytes) -> bool:
        """Whether a file is ignored, or a folder above it."""
        cuts = [at + 1 for at, byte in enumerate(path) if byte == ord("/")]
        return any(self.hides(path[:cut]) for cut in [*cuts, len(path)])

    def hides(self, path: bytes) -> bool:
        """Whether a file is ignored, or a folder, in one that is not.

        The path of a folder, and no other, ends with a slash.
        """
        for rules, below in self._rules_for(path):
            for rule in reversed(rules):
                if rule.fits(below):
                    return rule.hides
        return False

    def _rules_for(self, path: bytes) -> Iterator[tuple[list[_Rule], bytes]]:
        """The rules that count, the strongest first, and the path as they see it."""
        end = len(path.removesuffix(b"/"))
        while end >= 0:
            end = path.rfind(b"/", 0, end)
            folder = path[: end + 1]
            if folder not in self._in_folder:
                file = self._project / os.fsdecode(folder) / ".gitignore"
                self._in_folder[folder] = self._rules_in(file, links=False)
            yield self._in_folder[folder], path[end + 1 :]
        for rules in self._of_all:
            yield rules, path

    def _rules_in(self, file: Path, *, links: bool = True) -> list[_Rule]:
        """The rules of a file; none if it is no plain one, or too large."""
        try:
            with open_plain(file, links=links) as opened:
                data = opened.read(_MAX_BYTES + 1)
        except OSError:
            return []
        lines = data.removeprefix(_BOM).split(b"\n") if len(data) <= _MAX_BYTES else []
        return [rule for line in lines if (rule := self._rule(line)) is not None]

    def _rule(self, line: bytes) -> _Rule | None:
        """What a line says; one in doubt hides nothing, and may take anything back."""
        line = line.removesuffix(b"\r").rstrip(b" ")
        is_odd = self._any_case and _has_lone_capital(line)
        with suppress(ValueError, re.error):
            if not is_odd and _PLAIN.fullmatch(line.decode("latin-1")):
                bare = line.removesuffix(b"/")
                text, hides = GitIgnoreSpecPattern.pattern_to_regex(bare)
                if text is None or hides is None:
                    return None
                if text.count(_ANY_FOLDERS) > _MOST_ANY_FOLDERS:
                    raise ValueError
                flags = re.DOTALL | (re.IGNORECASE if self._any_case else 0)
                linear = _BETWEEN_STARS.sub(rb"(?>[^/]*?\1)", _PART.sub(_as_git, text))
                return _Rule(re.compile(linear, flags), line.endswith(b"/"), hides)
        return _TAKES_BACK if line.startswith(b"!") else None


def _user_excludes(lib: pygit2.Repository, project: Path) -> Path | None:
    """The user's own file of patterns to ignore; git works in the project's folder."""
    key = "core.excludesfile"
    if key in lib.config:
        named = lib.config[key]
        return project / os.path.expanduser(named) if named else None
    folder = pygit2.settings.search_path[ConfigLevel.XDG]
    return Path(folder, "ignore") if folder else None


def _as_git(part: re.Match[bytes]) -> bytes:
    """What git has for a part of an expression of pathspec."""
    if part["same"]:
        return part[0]
    return b"(?!/)" + part[0] if part["brackets"] else rb"\Z"


def _has_lone_capital(line: bytes) -> bool:
    """Whether brackets have a capital letter, and not the small one.

    Where case does not count, git makes the letters of a path small and those in
    brackets not: it finds neither.
    """
    singles = [_RANGE.sub(b"", inside) for inside in _BRACKETS.findall(line)]
    return any(
        letter.lower() not in single
        for single in singles
        for letter in _CAPITAL.findall(single)
    )
