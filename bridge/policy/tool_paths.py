r"""The paths and the host of a tool call, and which paths govern sessions.

Pure. Browsers and Python's own parser disagree about `http://evil\@x.org/`, tabs,
userinfo and hosts in other scripts. They agree about a plain URL; for any other there
is no host here.

Source: WHATWG URL Standard, "URL parsing"; RFC 3986, section 3.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from unicodedata import is_normalized

from bridge.policy.globs import fixed_part, stays_below

# The one key from which each tool reads its path.
PATH_KEYS = {
    **dict.fromkeys(("Read", "Edit", "Write", "MultiEdit"), "file_path"),
    **dict.fromkeys(("NotebookEdit", "NotebookRead"), "notebook_path"),
    **dict.fromkeys(("Grep", "Glob", "LS"), "path"),
}
# The tools that search a folder, and the keys with their patterns for paths.
SEARCHES = {"Grep": ("glob",), "Glob": ("pattern",), "LS": ()}
_GOVERNING = frozenset({".claude", ".git", ".bridge", ".hostbridge", ".mcp.json"})
# <state>/worktrees/<run>/<name> (bridge/worktrees/worktree.py).
_OURS = re.compile(r"/\.hostbridge/state/(?:[^/]+/)*@/worktrees/[^/]+/[^/]+\Z")
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = rf"{_NAME}(?:\.{_NAME})*"
# Only the default port, and nothing that a reader drops, trims or rewrites.
_PLAIN = re.compile(
    rf"(?:https://(?P<https>{_DOMAIN})(?::443)?|http://(?P<http>{_DOMAIN})(?::80)?)"
    r"(?:[/?#][^\\\x00-\x20\x7f-\xa0]*)?\Z",
    re.I,
)


def paths_of(tool: str, tool_input: Mapping[str, Any]) -> list[str] | None:
    """The paths that a call is about; None if they cannot be known for sure.

    The client trims a path, expands `~` and normalizes Unicode. It would then open
    another file than the one that is checked here.
    """
    path = tool_input.get(PATH_KEYS[tool])
    if path is None and tool in SEARCHES:
        path = "."
    if not isinstance(path, str) or not _is_plain(path):
        return None
    if tool not in SEARCHES:
        return [path]
    globs = [
        glob for key in SEARCHES[tool] if (glob := tool_input.get(key)) is not None
    ]
    if not all(isinstance(glob, str) and stays_below(glob) for glob in globs):
        return None
    # A search follows a link that its pattern names.
    return [path, *(posixpath.join(path, fixed_part(glob)) for glob in globs)]


def _is_plain(path: str) -> bool:
    return (
        path != ""
        and path == path.strip()
        and not path.startswith("~")
        and "\0" not in path
        and (path.isascii() or is_normalized("NFC", path))
    )


def governs_sessions(path: str) -> bool:
    """Whether a path in a project is of what governs its sessions.

    A change of it may start programs: hooks, servers, agents.
    """
    return bool(governing(path))


def governing(path: PurePosixPath | str) -> set[str]:
    """What governs a session on a path, whatever its case.

    Some file systems take `.Claude` for `.claude`.
    """
    return {part.casefold() for part in PurePosixPath(path).parts} & _GOVERNING


def governing_above(project: str) -> set[str]:
    """As `governing`, except for folders of worktrees.

    A worktree in `.claude/worktrees/`, or one that hostbridge has made in the state of
    its project, is a project like any other.
    """
    if _OURS.search(project):
        return set()
    parts = [part.casefold() for part in PurePosixPath(project).parts]
    below = zip(parts, [*parts[1:], ""], strict=True)
    return {
        part for part, after in below if (part, after) != (".claude", "worktrees")
    } & _GOVERNING


def host_of(url: object) -> str | None:
    """The host of a plain `http` or `https` URL, in lower case; None for others."""
    match = _PLAIN.match(url) if isinstance(url, str) else None
    return (match["https"] or match["http"]).lower() if match else None


def is_domain(spec: str) -> bool:
    """Whether this is `domain:HOST` with one plain ASCII host."""
    return re.fullmatch(f"domain:{_DOMAIN}", spec) is not None
