#!/usr/bin/env python3
"""Make files of ignored names, and compare what they hide with what git hides.

    scripts/fuzz_ignored.py 20000            so many repositories; always the same ones
    scripts/fuzz_ignored.py 1000 --from 5000 others
    scripts/fuzz_ignored.py 1000 --ordinary  of lines that people write

A file that git shows is never hidden: the first that is ends it with 1. One more that
is shown is no fault, but should be rare where lines are ordinary; they are counted.
The tests use the same (tests/change/test_new_files.py).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import NamedTuple

from bridge.change.ignored import Ignored
from bridge.change.project_files import untracked
from bridge.change.repository import Repository
from bridge.config import change_environment

# Where patterns can stand: in folders, in the repository, and the user's own.
PLACES = (".gitignore", "a/.gitignore", "b/a/.gitignore", ".git/info/exclude", "user")
NAMES = (
    "a/a/a", "a/b/ab", "a/ab", "b/a/b", "b/b", "ab/a/a", "c", "a b", "d/x.py",
    "d/e/x.log", "ab/[a]", "b/a*", "B/A", "d/a\tb", "b/a ", "build/x", "a/build/y.log",
    "node_modules/z/i.js", ".env", "docs/_build/k.html", "x.pyc", "lib/x.so", "a/#b#",
    "c\n", "A/c.pyc\n", "ab/.a",
)  # fmt: skip
_SEGMENTS = (
    "a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "a*", "\\a", "*.py", "x.*",
    "[a-c]", "[]a]", "[[:alpha:]]", "a**", "**a", "***", "[a", "\\*", "d", "e", "c",
    "*b", "[^b]", "[b-a]", "a b", "[\\]a]", "[a\\]", "\\", "A", "[[]a]", "[a--b]",
    "[a&&b]", "{a,b}", "b[!a]b", "b[^_]a*", "a[!b]ab", "b[.-0]b", "d[+-9]x.py",
    "[!-0]", "ab[ -~]*", "d[!e]e", "b[/]b", "b[\\/]b", "b[!/]b", "b[[:punct:]]b",
    "d[[:^alpha:]]e", "[[:upper:]]", "b?b", "d?e", "b*b", "[A]", "[!A]", "[Aa]*",
    "[A-C]", "[Z-a]", "[^a-B]", "?[^b]?", "[^b]*[^b]", "[$]", "*c",
)  # fmt: skip
_ENDS = (
    "", "", "", "", "/", "/", " ", "\t", "\r", "\r\r", "\\ ", "  ", "/**", "/*", "//",
    "\x0b", "\xa0", "/ ", "\x1c", "\0",
)  # fmt: skip
_ODD = (
    "#a", "\\#a", "\\!a", "/", "//", "!", "", "!/", "**/", "/**", "/*", "./a", "../a",
    "a/../b", "*/", "!*/", "!**", "\\", "!\\",
)  # fmt: skip
ORDINARY = (
    "*.log", "build/", "/build", "node_modules/", ".env", "!.env", "*.py[cod]",
    "__pycache__/", "/d/*", "!/d/x.py", "docs/_build/", "*.so", "**/a/b", "a/**",
    "b/**/b", "*~", "# a",
    "", "[Bb]uild/", ".idea/", "!build/", "**/*.log", "/a/ab", "c", "x.*", "*", "!*/",
    "!*.py", "\\#*#", "lib/*.so", "ab/", "a?", "/*", "!/a", "d/e", "d/**/x.log",
)  # fmt: skip


class Seen(NamedTuple):
    """What differs: files that only git shows, and files that only we show."""

    hidden: set[bytes]
    shown: set[bytes]


def drawn(random: Random, *, ordinary: bool = False) -> dict[str, bytes]:
    """What stands in each file of patterns."""
    return {
        place: _text(random, most, ordinary=ordinary)
        for place, most in zip(PLACES, (5, 4, 2, 3, 3), strict=True)
    }


def _text(random: Random, most: int, *, ordinary: bool) -> bytes:
    line = (lambda: random.choice(ORDINARY)) if ordinary else (lambda: _line(random))
    lines = [line() for _ in range(random.randint(0, most))]
    mark = "\xef\xbb\xbf" if random.randint(0, 19) == 0 else ""
    end = "\n" if random.randint(0, 1) else ""
    return (mark + "\n".join(lines) + end).encode("latin-1")


def _line(random: Random) -> str:
    if random.randint(0, 29) == 0:
        return random.choice(_ODD)
    segments = [random.choice(_SEGMENTS) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    begin = random.choice(("", "", "!")) + random.choice(("", "", "/", "**/"))
    return begin + "/".join(segments) + random.choice(_ENDS)


class World:
    """A repository with files that git does not know, and a user."""

    def __init__(self, folder: Path, git: str = "git") -> None:
        self._git = git
        self.project, self._user = folder / "project", folder / "user"
        self._user.mkdir(parents=True)
        for name in NAMES:
            file = self.project / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        self._config = folder / "config"
        self._env = {
            "HOME": str(folder),
            "GIT_CONFIG_GLOBAL": str(self._config),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self._run("init", "-q")

    def _run(self, *words: str) -> bytes:
        return subprocess.run(
            [self._git, *words],
            cwd=self.project,
            env={**os.environ, **self._env},
            capture_output=True,
            check=True,
        ).stdout

    def look(self, texts: dict[str, bytes], *, any_case: bool = False) -> Seen:
        """Compare what is shown with these files of patterns."""
        self._config.write_text(
            f"[core]\n\texcludesFile = {self._user / 'ignored'}\n"
            f"\tignoreCase = {str(any_case).lower()}\n"
        )
        for place, text in texts.items():
            own = self._user / "ignored"
            file = own if place == "user" else self.project / place
            file.write_bytes(text)
        listed = self._run("status", "--porcelain", "-z", "-uall")
        gits = {line[3:] for line in listed.split(b"\0") if line}
        before = change_environment(self._env)
        try:
            git = Repository(self.project)
        finally:
            change_environment(before)
        found = untracked(
            self.project,
            {},
            Ignored(self.project, git.lib, git.common).hides,
            reaches=lambda _: True,
        )
        ours = set(found)
        return Seen(gits - ours, ours - gits)


def main() -> int:
    """Compare so many, and say how many differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--ordinary", action="store_true")
    chosen = parser.parse_args()
    more = 0
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for seed in range(chosen.first, chosen.first + chosen.count):
            random = Random(seed)  # noqa: S311 - no secret
            texts = drawn(random, ordinary=chosen.ordinary)
            any_case = bool(random.randint(0, 1))
            seen = world.look(texts, any_case=any_case)
            if seen.hidden:
                print(f"{seed}: hidden, and git shows it: {seen.hidden}\n{texts}")
                print(f"core.ignoreCase = {any_case}")
                return 1
            more += bool(seen.shown)
    print(
        f"{chosen.count:,} repositories: none hides what git shows, {more:,} show more"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
