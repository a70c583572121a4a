"""Patterns for paths, in `allow` rules and in file searches. Pure.

    *       any characters of one name
    ?       one character of a name
    **      any characters, and folders
    **/     any number of folders, or none: `src/**/t.py` covers `src/t.py`
    dir/**  everything below `dir`, and `dir` itself

Searches have two more features: a pattern without a slash matches the name at any
depth, and `[ab]` or `[!ab]` matches one character. In a rule a bracket stands for
itself, so that a rule never grants more than it seems to.

Python has such a translation only from 3.13 on (`glob.translate`), and its regular
expressions may backtrack.
"""

import fnmatch
import itertools
import re
from collections.abc import Sequence

_WORD = re.compile(r"(\*\*/|\*\*|\*|\?)")
# Alternatives that are whole names, or the ends of names.
_ONE = r"[^{},./]+(?:\.[^{},./]+)*"
_BRACES = re.compile(rf"\{{{_ONE}(?:,{_ONE})*\}}")
_SET = re.compile(r"(\[(?!!\])!?[^/][^]/]*\])")


def covers(pattern: str, path: str) -> bool:
    """Whether a rule's pattern covers a path.

    Both are relative to the same folder, or both are absolute.
    """
    return _is_covered(_words(pattern), path)


def finds(pattern: str, path: str) -> bool:
    """Whether a search with this pattern finds the file at `path`, below its root.

    `./` or `/` at the beginning stands for the root, and counts as a slash.
    """
    words: list[str | re.Pattern[str]] = []
    for place, part in enumerate(_SET.split(from_root(pattern))):
        # Every second part is one that matched the separator.
        words += [re.compile(fnmatch.translate(part))] if place % 2 else _words(part)
    return _is_covered(words, path if "/" in pattern else path.rpartition("/")[2])


def from_root(pattern: str) -> str:
    """The pattern without the `./` or `/` that stands for the root."""
    return pattern.removeprefix("./").lstrip("/")


def stays_below(pattern: str) -> bool:
    """Whether a search with this pattern finds only files below its root.

    Only plain braces are accepted: `{.,x}.` stands for `..`.
    """
    if pattern[:1] in "/~" or ".." in pattern or "\\" in pattern:
        return False
    left = _BRACES.sub("", pattern)
    return "{" not in left and "}" not in left


def fixed_part(pattern: str) -> str:
    """The leading folders of a search pattern that have no special characters."""
    return "/".join(itertools.takewhile(_is_fixed, pattern.split("/")))


def _is_fixed(name: str) -> bool:
    return not set(name) & set("*?[]{}()!")


def _words(pattern: str) -> list[str]:
    return [word for word in _WORD.split(pattern) if word]


def _is_covered(words: Sequence[str | re.Pattern[str]], path: str) -> bool:
    """Go through both once, whatever the pattern.

    This keeps every position in the path that the words so far can reach, so it never
    goes back.
    """
    # `src/**/**` says what `src/**` does.
    while words[-2:] == ["**/", "**"]:
        words = [*words[:-2], "**"]
    # `src/**` covers the folder itself, for tools that look into it.
    is_folder = False
    match words:
        case [*first, str(folder), "**"] if folder != "**/" and folder.endswith("/"):
            words = [*first, folder.removesuffix("/")]
            is_folder = True
    places = {0}
    for word in words:
        places = _reached(word, path, places)
        if not places:
            return False
    end = len(path)
    return end in places or (
        is_folder and any(path[at] == "/" for at in places - {end})
    )


def _reached(word: str | re.Pattern[str], path: str, places: set[int]) -> set[int]:
    """The positions in a path after a word of a pattern, from any of `places`."""
    end = len(path)
    if word == "**":
        return set(range(min(places), end + 1))
    if word == "**/":
        first = min(places)
        return places | {at + 1 for at in range(first, end) if path[at] == "/"}
    if word == "*":
        reached = set(places)
        for at in range(end):
            if at in reached and path[at] != "/":
                reached.add(at + 1)
        return reached
    if isinstance(word, str) and word != "?":
        return {at + len(word) for at in places if path.startswith(word, at)}
    letters = {at for at in places if at < end and path[at] != "/"}
    if isinstance(word, re.Pattern):
        letters = {at for at in letters if word.match(path, at, at + 1)}
    return {at + 1 for at in letters}
