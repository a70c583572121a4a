"""The folders of definitions, and which of their files may define a name.

    <package>/agents/            built-in
    ~/.hostbridge/agents/        user
    <project>/.bridge/agents/    project
    ~/.claude/agents/            claude-user      Claude Code's own folders: Markdown
    <project>/.claude/agents/    claude-project   only, sub-folders included

Looking up a name reads the head of each file: a kilobyte if the name is in it.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bridge.agents import agent_names
from bridge.agents.agent_names import CLIENT_LAYERS, OF_PROJECT, SUFFIXES, Layer
from bridge.agents.files import Unreadable, open_plain
from bridge.protocol.names import CARRIER

# For folders below a client's folder: an archive can nest any number.
MAX_DEPTH = 32
_ORDER = {suffix: at for at, suffix in enumerate(SUFFIXES)}


class LayerFolder(NamedTuple):
    """One folder of definitions."""

    layer: Layer
    folder: Path

    @property
    def is_clients(self) -> bool:
        """Whether Claude Code itself reads this folder."""
        return self.layer in CLIENT_LAYERS

    @property
    def is_projects(self) -> bool:
        """Whether these files need the user's trust."""
        return self.layer in OF_PROJECT

    def files(self) -> list[Path]:
        """The definition files, in a fixed order."""
        return [self.folder / name for name, _ in self._named()]

    def names(self) -> Iterator[tuple[str, Path]]:
        """The name that each file defines, by its head."""
        for relative, stem in self._named():
            head = self._head(relative) or b""
            yield agent_names.declared(head) or stem, self.folder / relative

    def candidates(self, name: str) -> Iterator[Path]:
        """Files that may define a name, those with its file name first.

        Others are read only if the caller continues.
        """
        listed = self._listed()
        yield from (self.folder / path for path, stem in listed if stem == name)
        for relative, stem in listed:
            head = self._head(relative) if stem != name else None
            if head and agent_names.declares(head, name):
                yield self.folder / relative

    def _named(self) -> list[tuple[str, str]]:
        """Path and stem of each definition file.

        To the client, a Markdown file without a name is documentation.
        """
        return [
            (path, stem)
            for path, stem in self._listed()
            if not self.is_clients or self._is_agent(path)
        ]

    def _is_agent(self, relative: str) -> bool:
        head = self._head(relative)
        # Loading an unreadable file says what is wrong with it.
        return head is None or (
            head.removeprefix(b"\xef\xbb\xbf").startswith(b"---")
            and agent_names.has_name(head)
        )

    def _listed(self) -> list[tuple[str, str]]:
        """Path below the folder and stem of each file with a known suffix."""
        if self.is_projects and os.path.realpath(self.folder) != str(self.folder):
            # The folder is a link, which may lead out of the project.
            return []
        found = []
        for relative, name in self._walk(str(self.folder)):
            stem, suffix = os.path.splitext(name)
            # Not the agent that definitions run as in a session.
            is_ours = self.layer in ("built-in", "claude-user")
            if suffix in _ORDER and not (is_ours and name == f"{CARRIER}.md"):
                found.append((stem, _ORDER[suffix], relative))
        found.sort()
        return [(relative, stem) for stem, _, relative in found]

    def _walk(self, folder: str) -> Iterator[tuple[str, str]]:
        if not self.is_clients:
            try:
                names = os.listdir(folder)
            except OSError:
                return
            yield from ((name, name) for name in names if name[:1] != ".")
            return
        # The client reads hidden files, too, and follows links to folders. Links in a
        # project could lead out of it.
        seen = {os.path.realpath(folder)}
        for path, folders, names in os.walk(folder, followlinks=not self.is_projects):
            if os.path.relpath(path, folder).count(os.sep) >= MAX_DEPTH - 1:
                folders.clear()
            folders[:] = [each for each in sorted(folders) if _is_new(seen, path, each)]
            for name in names:
                if name.endswith(".md"):
                    yield os.path.relpath(os.path.join(path, name), folder), name

    def _head(self, relative: str) -> bytes | None:
        """The beginning of a plain file, as far as needed; None if unreadable."""
        path = self.folder / relative
        try:
            with open_plain(path, follow_links=not self.is_projects) as file:
                head = file.read(agent_names.SHORT_HEAD)
                if not agent_names.has_name(head):
                    head += file.read(agent_names.MAX_HEAD - len(head))
                return head
        except Unreadable:
            return None


def _is_new(seen: set[str], path: str, folder: str) -> bool:
    """Whether a walk reaches this folder for the first time, links followed."""
    real = os.path.realpath(os.path.join(path, folder))
    is_new = real not in seen
    seen.add(real)
    return is_new
