"""States of a repository, made without git, and what git and we see of each."""

import os
import shutil
import stat
import struct
import subprocess
import time
from collections.abc import Mapping
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

import gitworld
import needs
import pygit2

from bridge.change.change import Change
from bridge.change.comparison import compare
from bridge.change.scope import Scope
from bridge.config import change_environment

PLAIN, PROGRAM, LINK, SUBMODULE = 0o100644, 0o100755, 0o120000, 0o160000
_LONG, _ASSUMED, _SKIPPED, _PROMISED = 0x4000, 0x8000, 0x4000, 0x2000


class File(NamedTuple):
    """A file on one side; of a submodule, `text` is the id of its commit.

    In the work tree a submodule without one is not checked out.
    """

    text: bytes
    mode: int = PLAIN


class Staged(NamedTuple):
    """A file in the index; `how` is `assumed`, `skipped`, `promised`, `open` or ``."""

    file: File
    how: str = ""


class State(NamedTuple):
    """All that is drawn.

    Attributes:
        head, index, files: the three sides, by path.
        odd: what else lies in the work tree, by path: `pipe`, `folder`, `repository`.
        config: settings of the user.
        ignored: the user's own file of ignored names; and that of the repository.
        attributes: the same of attributes.
        form: of the index.
    """

    head: Mapping[str, File]
    index: Mapping[str, Staged]
    files: Mapping[str, File]
    odd: Mapping[str, str]
    config: tuple[str, ...]
    ignored: tuple[bytes, bytes]
    attributes: tuple[bytes, bytes]
    form: tuple[str, ...]


class Status(NamedTuple):
    """Paths that differ: of what is not committed, and of what is staged."""

    uncommitted: set[bytes]
    staged: set[bytes]


class World:
    """A repository whose state is another one again and again."""

    def __init__(self, folder: Path, layout: str) -> None:
        """`layout`: `plain`, a `linked` worktree, or one of a `bare` repository."""
        self.project = folder / "project"
        self._user = folder / "user"
        self._user.mkdir(parents=True)
        self._env = {
            **gitworld.ENV,
            "HOME": str(folder),
            "GIT_CONFIG_GLOBAL": str(self._user / "config"),
        }
        main = self.project if layout == "plain" else folder / "main"
        is_bare = layout == "bare"
        self._repo = pygit2.init_repository(str(main), is_bare, initial_head="main")
        self._common = Path(self._repo.path)
        self._own, self._branch = self._common, "main"
        (self._common / "info").mkdir(exist_ok=True)
        if layout != "plain":
            self._commit({})
            self._repo.add_worktree("linked", str(self.project))
            self._own, self._branch = self._common / "worktrees/linked", "linked"

    def set_up(self, state: State) -> None:
        """Make the state."""
        for each in self.project.iterdir():
            if each.name == ".git":
                continue
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()
        settings = "".join(f"\t{each}\n" for each in state.config)
        for kind, name, texts in (
            ("excludesFile", "exclude", state.ignored),
            ("attributesFile", "attributes", state.attributes),
        ):
            (self._user / name).write_bytes(texts[0])
            (self._common / "info" / name).write_bytes(texts[1])
            settings += f"\t{kind} = {self._user / name}\n"
        (self._user / "config").write_text(f"[core]\n{settings}")
        self._commit(state.head)
        for old in self._own.glob("sharedindex.*"):
            old.unlink()
        (self._own / "index").write_bytes(self._index(state.index))
        for path, file in state.files.items():
            _write(self.project / path, file)
        for path, kind in state.odd.items():
            _make(self.project / path, kind)
        if state.form:
            self._run(*state.form)

    def _commit(self, files: Mapping[str, File]) -> None:
        index = pygit2.Index()
        for path, file in files.items():
            mode = pygit2.enums.FileMode(file.mode)
            index.add(pygit2.IndexEntry(path, self._id(file), mode))
        who = pygit2.Signature("A", "a@x.org", 1, 0)
        tree = index.write_tree(self._repo)
        made = self._repo.create_commit(None, who, who, "m", tree, [])
        (self._common / "refs/heads" / self._branch).write_text(f"{made}\n")

    def _index(self, staged: Mapping[str, Staged]) -> bytes:
        lines: list[tuple[bytes, int, bytes]] = []
        for path, (file, how) in staged.items():
            stages = (1, 2, 3) if how == "open" else (0,)
            lines += [
                (os.fsencode(path), n, self._entry(path, file, how, n)) for n in stages
            ]
        body = b"DIRC" + struct.pack(">II", 3, len(lines))
        body += b"".join(line for _, _, line in sorted(lines))
        return body + sha1(body, usedforsecurity=False).digest()

    def _entry(self, path: str, file: File, how: str, stage: int) -> bytes:
        name = os.fsencode(path)
        is_file = file.mode != SUBMODULE
        if is_file and (how == "promised" or stage):
            file = File(b"x" * stage, file.mode)
        text_id = self._id(file).raw
        more = {"skipped": _SKIPPED, "promised": _PROMISED}.get(how, 0)
        flags = len(name) | stage << 12 | (_LONG if more else 0)
        flags |= _ASSUMED if how == "assumed" else 0
        line = struct.pack(">10I20sH", *(0,) * 6, file.mode, 0, 0, 0, text_id, flags)
        line += (struct.pack(">H", more) if more else b"") + name
        return line + b"\0" * (8 - len(line) % 8)

    def _id(self, file: File) -> pygit2.Oid:
        if file.mode == SUBMODULE:
            return pygit2.Oid(hex=file.text.decode())
        return self._repo.create_blob(file.text)

    def _run(self, *words: str) -> bytes:
        return subprocess.run(
            [needs.tool("git"), *words],
            cwd=self.project,
            env=os.environ | self._env,
            capture_output=True,
            check=False,
        ).stdout

    def by_git(self) -> Status:
        """What `git status` says."""
        # What changed within a submodule, no commit would take.
        how = ("--no-renames", "--ignore-submodules=dirty")
        listed = self._run("status", "--porcelain", "-z", "-uall", *how)
        found = [(line[:2], line[3:]) for line in listed.split(b"\0") if line]
        staged = {path for kind, path in found if kind[:1] not in b" ?"}
        return Status({path for _, path in found}, staged)

    def lines_by_git(self) -> dict[str, tuple[str, str]]:
        """How many lines `git diff HEAD` adds and removes of each file."""
        listed = self._run("diff", "-z", "--no-renames", "--numstat", "HEAD")
        found = {}
        for line in listed.split(b"\0"):
            if line:
                added, removed, path = line.split(b"\t", 2)
                found[os.fsdecode(path)] = (added.decode(), removed.decode())
        return found

    def by_us(self, kind: str = "uncommitted") -> Change:
        """What we say, without a process of its own."""
        before = change_environment(self._env)
        try:
            until_s = time.monotonic() + 300
            return compare(self.project, Scope(kind), until_s=until_s)
        finally:
            change_environment(before)


def _write(path: Path, file: File) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if file.mode == SUBMODULE:
        path.mkdir()
        if file.text:
            pygit2.init_repository(str(path))
            (path / ".git/HEAD").write_bytes(file.text + b"\n")
    elif file.mode == LINK:
        os.symlink(file.text, os.fsencode(path))
    else:
        path.write_bytes(file.text)
        path.chmod(stat.S_IMODE(file.mode))


def _make(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
        return
    path.mkdir(exist_ok=True)
    if kind == "repository":
        pygit2.init_repository(str(path))
