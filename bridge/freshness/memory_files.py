"""What Claude Code puts into the prompts of its agents by itself: memory and the like.

    CLAUDE.md, CLAUDE.local.md, .claude/CLAUDE.md, .claude/rules
        of the project, of each folder above it, and of each below it that the agent
        has read a file of; and what they import
    .claude/agents, agent-memory, commands, skills
        of the project, and of the user
    projects/<project>/memory/MEMORY.md
        of the user: what the client has written down itself

Which of it an agent gets depends on the agent. All of it counts: too much only asks
once more.

Source: measured on Claude Code 2.1.330, by words planted in each. A file that a prompt
names by `@` is not read, nor is one that is imported within code or from a home.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from bridge.freshness.looks import Look

_MEMORY = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")
_RULES = "rules"
_TREES = (_RULES, "agents", "agent-memory", "agent-memory-local", "commands", "skills")
_PAGES = "*.md"
_IMPORT = re.compile(r"(?:^|(?<=\s))@(\S+)", re.MULTILINE)
_MAX_NAME = 4096
_MAX_BYTES = 1 << 20
# The client follows imports five levels deep.
_MAX_DEPTH = 5
_MAX_FILES = 200
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_OTHER = re.compile(r"[^A-Za-z0-9]")


def of_client(
    project: str, claude_dir: str, read: Iterable[str], since_ms: int
) -> Iterator[Look]:
    """What the client reads by itself for an agent; at the earliest at `since_ms`.

    `read` are the files that the agent itself has read, absolute.
    """
    # Not its folder, which the client makes when a session begins.
    memory = f"{claude_dir}/projects/{_OTHER.sub('-', project)}/memory/MEMORY.md"
    found = [f"{claude_dir}/CLAUDE.md", memory]
    folders = [f"{claude_dir}/{name}" for name in _TREES]
    folders += [f"{project}/.claude/{name}" for name in _TREES]
    for folder in _folders(project, read):
        found += [os.path.join(folder, name) for name in _MEMORY]
        folders.append(os.path.join(folder, ".claude", _RULES))
    for path in dict.fromkeys(found):
        yield Look("file", path, "", since_ms)
    for folder in dict.fromkeys(folders):
        yield Look("contents", folder, _PAGES, since_ms)
    rules = [each for each in folders if each.endswith(f"/{_RULES}")]
    for imported in _imported([*found, *_pages_in(rules)]):
        yield imported._replace(at_ms=since_ms)


def is_of_client(path: str) -> bool:
    """Whether the client reads a file of this name by itself, wherever it is."""
    folder, _, name = path.rpartition("/")
    return name in _MEMORY or ".claude" in folder.split("/")


def _folders(project: str, read: Iterable[str]) -> list[str]:
    """The project, the folders above it, and those below it of files that were read."""
    found = dict.fromkeys(_above(f"{project}/x", "/"))
    for path in read:
        if path.startswith(f"{project}/"):
            found |= dict.fromkeys(_above(path, project))
    return list(found)


def _above(path: str, top: str) -> Iterator[str]:
    """The folders that a path is in, up to one of them."""
    while path != top:
        path = os.path.dirname(path)
        yield path


def _pages_in(folders: Iterable[str]) -> Iterator[str]:
    for folder in dict.fromkeys(folders):
        for where, _folders_in, names in os.walk(folder):
            yield from (f"{where}/{name}" for name in names if name.endswith(".md"))


def _imported(pages: Iterable[str]) -> Iterator[Look]:
    """The files that these name by `@path`, and those that they name in turn."""
    level = list(dict.fromkeys(islice(pages, _MAX_FILES + 1)))
    known = set(level)
    for _ in range(_MAX_DEPTH):
        named = {name for page in level for name in _names_in(page)}
        level = sorted(name for name in named - known if not os.path.isdir(name))
        known |= named
        for name in level:
            yield Look("file", name)
        if len(known) > _MAX_FILES:
            yield Look("outside", f"more than {_MAX_FILES} files of memory")
            return


def _names_in(page: str) -> Iterator[str]:
    try:
        with open(os.open(page, _READ), "rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    for name in islice(_IMPORT.findall(text), _MAX_FILES):
        if len(name) <= _MAX_NAME and "\0" not in name and "\ufffd" not in name:
            path = os.path.expanduser(name.rstrip(".,;:!?)\"'`"))
            yield os.path.normpath(os.path.join(os.path.dirname(page), path))
