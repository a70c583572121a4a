"""What an agent looked at, call by call. Pure.

| calls | rest on |
| --- | --- |
| Read | the bytes of one file, or that there is none |
| Glob | which files there are below a folder, by their names |
| Grep | the same, and the bytes of each, and of what says which files git ignores |
| Bash | everything in the project |
| Edit, Write | nothing: the agent acted, and an action is no reading |
| any other | something that cannot be checked: the web, a server, another agent |

A look may take in more than the agent saw, never less: Grep counts what it skipped, and
a pattern that is not understood stands for every file, as does one that may begin below
the folder that was searched or below the agent's own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple
from unicodedata import is_normalized

from bridge.policy.globs import finds, fixed_part, stays_below
from bridge.policy.made_folders import LEFT_OUT
from bridge.policy.tool_names import SUBMIT

Kind = Literal["file", "names", "contents", "everything", "change", "outside"]
# Kinds of looks at all that is below a folder.
OF_TREES = frozenset({"names", "contents", "everything"})

_FILES = {"Read": "file_path", "NotebookRead": "notebook_path"}
_TREES: dict[str, tuple[Kind, str]] = {
    "Grep": ("contents", "glob"),
    "Glob": ("names", "pattern"),
}
_EVERYTHING = frozenset({"Bash", "LSP", "Monitor", "PowerShell"})
_CHANGES = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
# What they tell comes from other calls, or from the agent itself.
_NOTHING = frozenset(
    {"EnterPlanMode", "ExitPlanMode", "StructuredOutput", "SubagentHandback"}
    | {"TaskOutput", "TaskStop", "TodoWrite", "ToolSearch", SUBMIT}
)
_BRACES = re.compile(r"\{([^{}]*)\}")
_NAMES = re.compile(r"[^/{},]+")
MAX_PATTERNS = 16
_MAX_PATTERN_CHARS = 1000
# Each costs time for each file.
_MAX_WILD = 16
# What `finds` and every tool take for the same.
_PLAIN = re.compile(r"(?:[^\s,!\\(){}|^\[\]]|\[[\w.-]+\])*")
# What a tool may take for the folder itself, and `finds` takes for a name.
_ODD_NAMES = frozenset({"", ".", ".."})
_ALL = frozenset({"*", "**", "**/*"})
# A search skips what these say: below its folder, and in those above it.
IGNORING = (".gitignore", ".ignore", ".rgignore")


class Look(NamedTuple):
    """One look of an agent.

    `path` is absolute; of what lies outside it is the tool. `pattern` narrows a tree.
    `at_ms` is when it was, on the wall clock as it is now. `facts` are what the file
    was before it (`disk.facts_of`), empty if it was not there; None if nobody looked.
    With `was_there` the agent was given the file.
    """

    kind: Kind
    path: str
    pattern: str = ""
    at_ms: int = 0
    facts: str | None = None
    was_there: bool = False


def look_of(
    tool: str, tool_input: Mapping[str, Any], folder: str, at_ms: int
) -> Look | None:
    """The look that a call is, by the client's names; None if it looks at nothing.

    `folder` is where relative paths begin, an absolute path.
    """
    if tool in _NOTHING:
        return None
    if tool in _EVERYTHING:
        return Look("everything", folder, "", at_ms)
    if tool in _CHANGES:
        return Look("change", tool, "", at_ms)
    if tool in _FILES:
        path = tool_input.get(_FILES[tool])
        if isinstance(path, str) and path and _is_plain(path):
            return Look("file", _joined(folder, path), "", at_ms)
    if tool in _TREES:
        kind, narrowed_by = _TREES[tool]
        path, pattern = tool_input.get("path"), tool_input.get(narrowed_by)
        given = isinstance(path, str | None) and isinstance(pattern, str | None)
        if given and _is_plain(path or "."):
            root, narrowed = _joined(folder, path or "."), pattern or ""
            if kind == "names":
                root, narrowed = _rooted(root, narrowed)
            narrowed = narrowed.lstrip("/")
            if not narrowed or stays_in(narrowed):
                return Look(kind, root, _narrowed(kind, root, narrowed, folder), at_ms)
    return Look("outside", tool, "", at_ms)


def _is_plain(path: str) -> bool:
    """Whether the client looks at this very path: it trims, expands and composes."""
    if path[:1] == "~" or path != path.strip() or "\0" in path:
        return False
    return path.isascii() or is_normalized("NFC", path)


def _joined(folder: str, path: str) -> str:
    # Two slashes at the beginning would stay.
    return "/" + posixpath.normpath(posixpath.join(folder, path)).lstrip("/")


def _rooted(root: str, pattern: str) -> tuple[str, str]:
    """Root and pattern, where a pattern that is absolute names its own root."""
    if not pattern.startswith("/"):
        return root, pattern
    fixed = fixed_part(pattern)
    if fixed == pattern:
        fixed = posixpath.dirname(pattern)
    return fixed or "/", pattern[len(fixed) :]


def _narrowed(kind: Kind, root: str, pattern: str, folder: str) -> str:
    """The pattern by which a look below `root` counts, of an agent in `folder`."""
    # `**/*.py` begins anywhere, and finds what `*.py` does.
    is_of_folder = "/" in pattern.removeprefix("**/")
    if is_of_folder and (root != folder or _repeats(root, pattern)):
        pattern = _every(pattern)
    if kind == "contents" and patterns_of(pattern):
        pattern = f"{{{','.join((pattern, *IGNORING))}}}"
    return pattern


def _repeats(root: str, pattern: str) -> bool:
    """Whether a pattern begins with the folders that its root ends with.

    The client leaves them out if they are not there once more.
    """
    names, above = pattern.split("/"), root.split("/")
    return any(names[:n] == above[-n:] for n in range(1, len(names)))


def _every(pattern: str) -> str:
    """A pattern for every file, also in folders that are left out if none names them.

    Empty where this one names none.
    """
    named = sorted(LEFT_OUT.intersection(_NAMES.findall(pattern)))
    return f"{{{','.join(('**', *(f'**/{each}/**' for each in named)))}}}" * bool(named)


def stays_in(pattern: str) -> bool:
    """Whether a pattern finds only what is below its root, as far as it can be read.

    One with many odd alternatives could be anything.
    """
    found = _alternatives(pattern)
    if not found:
        return stays_below(pattern) and "~" not in pattern
    return not any(map(_may_leave, found))


def _may_leave(pattern: str) -> bool:
    return pattern[:1] in ("/", "~") or ".." in pattern or "\\" in pattern


def patterns_of(pattern: str) -> tuple[str, ...]:
    """The patterns without braces that a search pattern stands for; none: every file.

    What is not understood, or would take long, stands for every file, too.
    """
    found = set(_alternatives(pattern))
    if not found or not all(map(is_quick, found)):
        every = _every(pattern)
        return patterns_of(every) if every else ()
    return () if found <= _ALL else tuple(sorted(found))


def left_out(patterns: Iterable[str]) -> frozenset[str]:
    """The folders that do not count, unless one of these patterns names them."""
    return LEFT_OUT.difference(*(each.split("/") for each in patterns))


def _alternatives(pattern: str) -> list[str]:
    """The patterns without braces that one stands for; none if they are too many."""
    found = [pattern]
    while any("{" in each for each in found):
        found = [one for each in found for one in _expanded(each)]
        if len(found) > MAX_PATTERNS:
            return []
    return found


def is_quick(pattern: str) -> bool:
    """Whether a pattern is understood, and compared in little time."""
    if not _ODD_NAMES.isdisjoint(pattern.split("/")):
        return False
    wild = sum(map(pattern.count, "*?["))
    is_short = len(pattern) <= _MAX_PATTERN_CHARS and wild <= _MAX_WILD
    return is_short and _PLAIN.fullmatch(pattern) is not None


def _expanded(pattern: str) -> Iterable[str]:
    found = _BRACES.search(pattern)
    if found is None:
        return [pattern.replace("{", "(")]
    head, tail = pattern[: found.start()], pattern[found.end() :]
    return [head + one + tail for one in found[1].split(",")]


def is_found(patterns: tuple[str, ...], path: str) -> bool:
    """Whether one of these patterns finds a file, by its path below their root."""
    if not patterns:
        return True
    name = path.rpartition("/")[2]
    return any(
        # Most patterns are as plain as `*.py`, and there are many files.
        name.endswith(each[1:]) if _is_ending(each) else finds(each, path)
        for each in patterns
    )


@cache
def _is_ending(pattern: str) -> bool:
    return pattern[:1] == "*" and not set(pattern[1:]) & set("*?[/")


def merged(looks: Iterable[Look]) -> list[Look]:
    """The looks without repetitions, each as early as its first.

    What lies below a folder of which everything counts by then is part of that.
    """
    first: dict[tuple[str, str, str], Look] = {}
    for look in looks:
        key = (look.kind, look.path, look.pattern)
        known = first.get(key)
        if known is None:
            first[key] = look
        else:
            was_there = known.was_there or look.was_there
            at_ms = min(known.at_ms, look.at_ms)
            first[key] = known._replace(at_ms=at_ms, was_there=was_there)
    whole = [look for look in first.values() if look.kind == "everything"]
    return [
        look
        for look in first.values()
        if not any(_is_covered(look, top) for top in whole if top is not look)
    ]


def _is_covered(look: Look, top: Look) -> bool:
    """Whether a tree of everything has what a look is about, from an earlier time on.

    A file is not in it: the tree follows no link, and the agent did.
    """
    is_tree = look.kind in OF_TREES and look.at_ms >= top.at_ms
    names_none = LEFT_OUT.isdisjoint(_NAMES.findall(look.pattern))
    return is_tree and names_none and is_part(look.path, top.path)


def is_part(path: str, top: str) -> bool:
    """Whether a folder counts, with all that is in it, where everything in `top` does.

    Not below one that is left out.
    """
    if path == top:
        return True
    inside = path.removeprefix(top.rstrip("/") + "/")
    return inside != path and LEFT_OUT.isdisjoint(inside.split("/"))
