"""Branches: read by libgit2, written under git's own lock (`git_locks`).

Written here and not by libgit2, so that a kill leaves no lock behind. A branch moves
only from where it was when it was looked at.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.protocol.wording import in_shell
from bridge.worktrees.refused import NoRepository, RepositoryBusy, WorktreeRefused

if TYPE_CHECKING:
    import pygit2

    from bridge.worktrees.repository import Git
    from bridge.worktrees.worktree import CommitId

HEADS = "refs/heads/"
_NONE = "0" * 40
_LOG = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_SIGNS = re.compile(r"[<>\n\r\0]")


def tip(git: Git, branch: str) -> CommitId | None:
    """The commit that a branch is at; None if there is no such branch."""
    found = git.repo.references.get(HEADS + branch)
    return None if found is None else str(found.peel(git.lib.Commit).id)


def real_name(git: Git, name: str) -> str:
    """The reference that a full name stands for, as that of an alias; or itself."""
    with suppress(KeyError, ValueError):
        return git.repo.references[name].resolve().name
    return name


def get_tip(git: Git, branch: str) -> CommitId:
    """As `tip`, of a branch that has to be there.

    Raises:
        WorktreeRefused: it is not.
    """
    if (found := tip(git, branch)) is not None:
        return found
    refuse_unborn(git)
    raise WorktreeRefused(
        f"{git.project} has no branch {branch!r}", ways=("git branch lists them",)
    )


def check_name(git: Git, branch: str) -> None:
    """Refuse what cannot be the name of a branch.

    Raises:
        WorktreeRefused: it cannot.
    """
    name = HEADS + branch
    if branch.startswith("-") or not git.lib.reference_is_valid_name(name):
        raise WorktreeRefused(
            f"{branch!r} cannot be the name of a branch",
            ways=("see git check-ref-format for what a name can hold",),
        )


def check_free(git: Git, branch: str) -> None:
    """Refuse a branch that is there, or that another one stands in the way of.

    Raises:
        WorktreeRefused: the name is taken.
    """
    taken = branch if tip(git, branch) else _in_the_way(git, branch)
    if taken is not None:
        raise WorktreeRefused(
            f"{git.project}: a branch {taken!r} exists already",
            ways=(
                "choose another name",
                f"or remove it: {in_shell('git', 'branch', '-d', taken)}",
            ),
        )


def move(
    git: Git, branch: str, old: CommitId | None, new: CommitId, *, why: str
) -> None:
    """Move a branch from `old` (None: make it) to `new`, durable, with its log.

    Raises:
        RepositoryBusy: it is not at `old`, or somebody holds its lock.
    """
    path = _path(git, branch)
    with git.locks.held(path) as lock:
        if (name := real_name(git, HEADS + branch)) != HEADS + branch:
            raise WorktreeRefused(
                f"{git.project}: the branch {branch!r} is now another name of {name}",
                ways=(in_shell("git", "symbolic-ref", "-d", HEADS + branch),),
            )
        if tip(git, branch) != old:
            raise moved(git, branch)
        line = _log_line(git, old, new, why)
        _log(git.common, f"logs/{HEADS}{branch}", line)
        if is_checked_out(git, branch):
            _log(git.folder, "logs/HEAD", line)
        lock.replace(f"{new}\n".encode())


def moved(git: Git, branch: str) -> RepositoryBusy:
    """A branch is no longer where it was when it was looked at."""
    what = f"{git.project}: the branch {branch!r} has moved meanwhile"
    return RepositoryBusy(what, ways=("try again",))


def refuse_unborn(git: Git) -> None:
    """Refuse a repository without a commit.

    Raises:
        NoRepository: it has none.
    """
    if git.repo.head_is_unborn:
        raise NoRepository(
            f"{git.project} has no commit yet", ways=("git add and git commit first",)
        )


def delete(git: Git, branch: str, old: CommitId | None = None) -> None:
    """Delete a branch and its log, wherever git keeps it.

    Raises:
        RepositoryBusy: it is not at `old`, or somebody holds its lock.
    """
    path = _path(git, branch)
    with git.locks.held(path) as lock:
        if old is not None and tip(git, branch) != old:
            raise moved(git, branch)
        _unpack(git, HEADS + branch)
        log = _beneath(git.common, f"logs/{HEADS}{branch}")
        log.unlink(missing_ok=True)
        lock.remove()
    for one in (log, path):
        _remove_empty(one.parent)


def is_checked_out(git: Git, branch: str) -> bool:
    """Whether a branch is the one of the project's own work tree."""
    return real_name(git, head_of(git.folder)) == real_name(git, HEADS + branch)


def head_of(folder: Path) -> str:
    """The full name of the branch in the HEAD of a git folder; empty if detached."""
    try:
        text = (folder / "HEAD").read_bytes()[:4096]
    except OSError:
        return ""
    name = os.fsdecode(text.partition(b"\n")[0])
    return name.removeprefix("ref: ").strip() if name.startswith("ref: ") else ""


def signature(git: Git) -> pygit2.Signature:
    """Who commits: as git is configured, otherwise hostbridge."""
    try:
        return git.repo.default_signature
    except (KeyError, git.lib.GitError):
        mine: pygit2.Signature = git.lib.Signature("hostbridge", "hostbridge@localhost")
        return mine


def _path(git: Git, branch: str) -> Path:
    return _beneath(git.common, HEADS + branch)


def _beneath(folder: Path, name: str) -> Path:
    """A path in a git folder, to which no link leads.

    Raises:
        WorktreeRefused: a part of it is a link.
    """
    path = folder / name
    real = os.path.realpath(path)
    if real != os.path.join(os.path.realpath(folder), name):
        raise WorktreeRefused(f"{path} leads to {real}", ways=("move that link away",))
    return path


def _in_the_way(git: Git, branch: str) -> str | None:
    """A branch whose name is a folder of this one's name, or the other way round."""
    parts = branch.split("/")
    for end in range(1, len(parts)):
        if tip(git, above := "/".join(parts[:end])) is not None:
            return above
    below = f"{HEADS}{branch}/"
    if not (git.common / below).is_dir() and not _is_packed(git, below):
        return None
    found = (name for name in git.repo.references if name.startswith(below))
    name = next(found, None)
    return None if name is None else name.removeprefix(HEADS)


def _packed(git: Git) -> bytes:
    path = git.common / "packed-refs"
    return path.read_bytes() if path.exists() else b""


def _is_packed(git: Git, start: str) -> bool:
    return os.fsencode(f" {start}") in _packed(git)


def _unpack(git: Git, name: str) -> None:
    """Take a reference out of `packed-refs`, with the line that says what it peels to.

    Source: git-pack-refs(1); a line that begins with `^` belongs to the one before it.
    """
    if not _is_packed(git, name):
        return
    with git.locks.held(git.common / "packed-refs") as lock:
        kept, is_ours = [], False
        for line in _packed(git).splitlines(keepends=True):
            if not line.startswith(b"^"):
                is_ours = line.rstrip(b"\r\n").endswith(os.fsencode(f" {name}"))
            if not is_ours:
                kept.append(line)
        lock.replace(b"".join(kept))


def _log_line(git: Git, old: CommitId | None, new: CommitId, why: str) -> str:
    who = signature(git)
    sign = "-" if who.offset < 0 else "+"
    zone = f"{sign}{abs(who.offset) // 60:02}{abs(who.offset) % 60:02}"
    name, email = (_SIGNS.sub(" ", text) for text in (who.name, who.email))
    why = _SIGNS.sub(" ", why)
    return f"{old or _NONE} {new} {name} <{email}> {who.time} {zone}\t{why}\n"


def _log(folder: Path, name: str, line: str) -> None:
    """Add a line to one of git's logs, unless it is not a plain file."""
    path = _beneath(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, _LOG | os.O_CLOEXEC, 0o666)
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            os.write(fd, line.encode("utf-8", "replace"))
    finally:
        os.close(fd)


def _remove_empty(folder: Path) -> None:
    """Remove the folders of a branch's name, as far as they are empty."""
    while folder.name != "heads":
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
