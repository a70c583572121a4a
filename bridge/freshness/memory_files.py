"""What Claude Code puts into the prompts of its agents by itself: memory and the like.

    CLAUDE.md, CLAUDE.local.md, .claude/CLAUDE.md, .claude/rules
        of the project, of each folder above it, and of each below it that the agent
        has read a file of; and what they import
    .claude/agents, agent-memory, commands, skills
        of the project, and of the user
    projects/<project>/memory/MEMORY.md
        of the user: what the client has written down itself

Which of it an agent gets depends on the agent, and on the client's settings. All of it
counts, also behind links: too much only asks once more.

Source: measured on Claude Code 2.1.330, by words planted in each. A file that a prompt
names by `@` is not read, nor is one that is imported within code or from a home, nor
AGENTS.md. What the client says of git does not count: it is as old as the session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice

from bridge.freshness.looks import Look
from bridge.policy.memory_imports import MAX_DEPTH, MAX_FILES, imports_in
from bridge.store.plain_file import open_plain

_MEMORY = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")
_RULES = "rules"
_TREES = (_RULES, "agents", "agent-memory", "agent-memory-local", "commands", "skills")
_PAGES = "*.md"
# Of all pages together: a hook reads them, and the client's limit is far below.
_MAX_BYTES = 4 << 20
_MAX_ENTRIES = 10_000
_OTHER = re.compile(r"[^A-Za-z0-9]")


def of_client(
    project: str, claude_dir: str, read: Collection[str], since_ms: int
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
    entries = list(islice(_entries_in(folders), _MAX_ENTRIES + 1))
    if len(entries) > _MAX_ENTRIES:
        yield Look("outside", f"more than {_MAX_ENTRIES:,} files of memory")
    for folder in dict.fromkeys((*folders, *filter(os.path.islink, entries))):
        yield Look("contents", folder, _PAGES, since_ms)
        # A link that is new may have any name.
        yield Look("names", folder, "", since_ms)
    rules = tuple(f"{each}/" for each in folders if each.endswith(f"/{_RULES}"))
    pages = [e for e in entries if e.endswith(".md") and e.startswith(rules)]
    for imported in _imported(filter(os.path.exists, (*found, *pages))):
        yield imported._replace(at_ms=since_ms)


def is_of_client(path: str) -> bool:
    """Whether the client reads a file of this name by itself, wherever it is."""
    folder, _, name = path.rpartition("/")
    return name in _MEMORY or ".claude" in folder.split("/")


def _folders(project: str, read: Collection[str]) -> list[str]:
    """The project, the folders above it, and those below it of files that were read."""
    found = dict.fromkeys(_above(f"{project}/x", "/"))
    for path in chain(read, map(os.path.realpath, read)):
        if path.startswith(f"{project}/"):
            found |= dict.fromkeys(_above(path, project))
    return list(found)


def _above(path: str, top: str) -> Iterator[str]:
    """The folders that a path is in, up to one of them."""
    while path != top:
        path = os.path.dirname(path)
        yield path


def _entries_in(folders: Iterable[str]) -> Iterator[str]:
    """What lies below these folders, also behind links; below each folder once."""
    known = set()
    for folder in folders:
        for where, inside, names in os.walk(folder, followlinks=True):
            if (real := os.path.realpath(where)) in known:
                inside.clear()
                continue
            known.add(real)
            yield from (os.path.join(where, name) for name in (*inside, *names))


def _imported(pages: Iterable[str]) -> Iterator[Look]:
    """The files that these name by `@path`, and those that they name in turn."""
    level = list(dict.fromkeys(islice(pages, MAX_FILES + 1)))
    known = set(level)
    left = _MAX_BYTES
    for _ in range(MAX_DEPTH):
        named: set[str] = set()
        for page in level:
            data = _bytes_of(page, left + 1)
            left -= len(data)
            if left < 0:
                yield Look("outside", f"more than {_MAX_BYTES:,} bytes of memory")
                return
            names = imports_in(data.decode("utf-8", "replace"))
            if len(names) > MAX_FILES:
                yield _too_many()
                return
            named.update(_paths_of(names, page))
        level = sorted(name for name in named - known if not os.path.isdir(name))
        known |= named
        for name in level:
            yield Look("file", name)
        if len(known) > MAX_FILES:
            yield _too_many()
            return


def _too_many() -> Look:
    return Look("outside", f"more than {MAX_FILES} files of memory")


def _bytes_of(page: str, most: int) -> bytes:
    try:
        with open_plain(page) as file:
            return file.read(most)
    except (OSError, ValueError):
        return b""


def _paths_of(names: Iterable[str], page: str) -> Iterator[str]:
    folders = {os.path.dirname(path) for path in (page, os.path.realpath(page))}
    for name in names:
        path = os.path.expanduser(name)
        yield from (os.path.normpath(os.path.join(f, path)) for f in folders)
