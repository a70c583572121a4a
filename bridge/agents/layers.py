"""The folders that hold definitions, and which of their files may define a name.

    <package>/agents/            built-in
    ~/.hostbridge/agents/        user
    <project>/.bridge/agents/    project
    ~/.claude/agents/            claude-user      Claude Code's own folders: Markdown
    <project>/.claude/agents/    claude-project   only, and sub-folders belong to them

To look for a name reads the heads of files, a kilobyte each where they say it early.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.agents import names
from bridge.agents.names import CLIENT_LAYERS, OF_PROJECT, SUFFIXES, Layer
from bridge.protocol.names import CARRIER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Of folders in one another below a client's folder: an archive can hold any number.
MAX_DEPTH = 32
_ORDER = {suffix: at for at, suffix in enumerate(SUFFIXES)}


@dataclass(frozen=True, slots=True)
class Shelf:
    """One folder of definitions."""

    layer: Layer
    folder: Path

    @property
    def is_clients(self) -> bool:
        """Whether Claude Code itself reads this folder."""
        return self.layer in CLIENT_LAYERS

    @property
    def is_projects(self) -> bool:
        """Whether these files count only once their user has looked at them."""
        return self.layer in OF_PROJECT

    def files(self) -> list[Path]:
        """The definition files, in a fixed order; of a client's folder its agents."""
        return [self.folder / name for name, _ in self._named()]

    def names(self) -> Iterator[tuple[str, Path]]:
        """The name that each file goes by, as far as its head tells."""
        for relative, stem in self._named():
            head = self._head(relative) or b""
            yield names.declared(head) or stem, self.folder / relative

    def candidates(self, name: str) -> Iterator[Path]:
        """Files that may define a name, the one that is called so first.

        Nothing else is read where that one is the definition and the caller stops.
        """
        listed = self._listed()
        first = [each for each in listed if each[1] == name]
        for relative, _ in first:
            yield self.folder / relative
        wanted = name.encode("utf-8", "surrogateescape")
        for relative, stem in listed:
            if stem == name:
                continue
            head = self._head(relative)
            if head and wanted in head and names.declares(head, name):
                yield self.folder / relative

    def _named(self) -> list[tuple[str, str]]:
        """The files; without those of a client's folder that are no agents.

        The client takes a Markdown file without a name for documentation.
        """
        listed = self._listed()
        if not self.is_clients:
            return listed
        return [each for each in listed if self._is_agent(each[0])]

    def _is_agent(self, relative: str) -> bool:
        head = self._head(relative)
        # One that cannot be read is told of by whoever loads it.
        return head is None or (
            head.removeprefix(b"\xef\xbb\xbf").startswith(b"---")
            and names.has_name(head)
        )

    def _listed(self) -> list[tuple[str, str]]:
        """Each file's path below the folder, and its stem."""
        if self.is_projects and os.path.realpath(self.folder) != str(self.folder):
            # A link in place of the folder leads out of the project.
            return []
        found = []
        for relative, name in self._walk(str(self.folder)):
            stem, suffix = os.path.splitext(name)
            if suffix in _ORDER and not self._is_carrier(name):
                found.append((stem, _ORDER[suffix], relative))
        found.sort()
        return [(relative, stem) for stem, _, relative in found]

    def _is_carrier(self, name: str) -> bool:
        """Whether a file is only what definitions run as in a session."""
        return name == f"{CARRIER}.md" and self.layer in ("built-in", "claude-user")

    def _walk(self, folder: str) -> Iterator[tuple[str, str]]:
        if not self.is_clients:
            try:
                names = os.listdir(folder)
            except OSError:
                return
            yield from ((name, name) for name in names if name[:1] != ".")
            return
        # The client passes over no name, and follows links to folders; those of a
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
        """The beginning of a plain file, as far as needed; None if it has none."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        if self.is_projects:
            flags |= os.O_NOFOLLOW
        try:
            fd = os.open(f"{self.folder}/{relative}", flags)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            head = os.read(fd, names.SHORT_HEAD)
            if len(head) == names.SHORT_HEAD and not names.has_name(head):
                head += os.read(fd, names.MAX_HEAD - names.SHORT_HEAD)
        except OSError:
            return None
        finally:
            os.close(fd)
        return head


def _is_new(seen: set[str], path: str, folder: str) -> bool:
    """Whether a walk has not come to this folder before, by whatever link."""
    real = os.path.realpath(os.path.join(path, folder))
    is_new = real not in seen
    seen.add(real)
    return is_new
