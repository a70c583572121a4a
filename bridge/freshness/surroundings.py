"""What an answer rests on beside the agent's calls.

Claude Code puts the memory files of a project into the prompts of its agents, and the
definition of an agent of its own. A command can tell which commit is checked out, and
what is staged. What memory files import by `@path` does not count, nor do the user's.

Source: Claude Code memory reference, "How Claude looks up memories".
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from bridge.freshness.looks import Look
from bridge.protocol.names import GENERAL
from bridge.protocol.request import Request

_MEMORY = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")
_RULES, _AGENTS = ".claude/rules", ".claude/agents"
_ALL_MARKDOWN = "*.md"
_GITDIR = b"gitdir: "
_MAX_LINE = 4096 + len(_GITDIR)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def of_client(request: Request, project: str, since_ms: int) -> Iterator[Look]:
    """What the client reads by itself for an agent; at the earliest at `since_ms`."""
    for name in _MEMORY:
        yield Look("file", f"{project}/{name}", "", since_ms)
    yield Look("contents", f"{project}/{_RULES}", _ALL_MARKDOWN, since_ms)
    applied = request.definition
    named = applied.subagent_type if applied else request.agent_type
    if named not in (None, GENERAL):
        yield Look("contents", f"{project}/{_AGENTS}", _ALL_MARKDOWN, since_ms)


def with_repository(looks: Iterable[Look]) -> Iterator[Look]:
    """The looks; of everything in a folder, also what git says of it."""
    for look in looks:
        yield look
        if look.kind == "everything":
            yield from _of_git(look)


def _of_git(look: Look) -> Iterator[Look]:
    git = f"{look.path}/.git"
    own = common = git
    if os.path.isfile(git):
        # A linked worktree: what its file names has HEAD, the main one the branches.
        yield look._replace(kind="file", path=git)
        named = _first_line(git).removeprefix(_GITDIR).strip()
        own = os.path.normpath(os.path.join(look.path, os.fsdecode(named)))
        common = os.path.dirname(os.path.dirname(own))
    for path in (f"{own}/HEAD", f"{own}/index", f"{common}/packed-refs"):
        yield look._replace(kind="file", path=path)
    yield look._replace(kind="contents", path=f"{common}/refs")


def _first_line(path: str) -> bytes:
    try:
        with open(os.open(path, _READ), "rb") as file:
            return file.readline(_MAX_LINE)
    except OSError:
        return b""
