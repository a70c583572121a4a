"""Files that git treats by a program, and those that libgit2 treats otherwise than git.

libgit2 runs no filter and no merge driver. A file that goes through a filter (Git LFS,
git-crypt) would be committed, or written, as it must not be; a file with its own merge
driver would be merged as plain text. So both are named, and left to git.

With the attribute `ident`, libgit2 drops the lines between `$Id` and the next `$`. So
the text of such files is read and written here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.change.diffs import path_text
from bridge.change.ignored import Ignored
from bridge.change.stored import Attributes, UnknownText, has_ident
from bridge.protocol.wording import in_shell
from bridge.store.plain_file import open_plain
from bridge.worktrees.index_file import is_left_out
from bridge.worktrees.refused import WorktreeRefused

if TYPE_CHECKING:
    import pygit2

    from bridge.worktrees.repository import Git
    from bridge.worktrees.worktree import CommitId

_TREATING = ("filter", "working-tree-encoding")
_BUILT_IN = {"text", "binary", "union"}
MAX_NAMED = 10


def check_unfiltered(
    git: Git, paths: Iterable[str], what: str, *commits: CommitId
) -> None:
    """Refuse files that a filter would change, by the attributes that hold now.

    `commits`: their attributes count, too.

    Raises:
        WorktreeRefused: some of `paths` are such files, or git may not obey the
            attributes that libgit2 does.
    """
    attributes = _attributes(git.repo, git.project)
    for path in paths:
        if odd := attributes.odd_above(os.fsencode(path)):
            raise WorktreeRefused(
                f"{git.project}: git may not obey {odd}, and hostbridge cannot tell "
                f"what that means for {path}: it will not {what}",
                ways=("do this step with git",),
            )
        for name in _TREATING:
            for value in _values(git, path, name, commits):
                if isinstance(value, str):
                    raise WorktreeRefused(
                        f"{git.project}: {path} has the attribute {name}={value}, and "
                        f"hostbridge runs no filter: it will not {what}",
                        ways=("do this step with git",),
                    )


def treated(repo: pygit2.Repository, paths: Iterable[str]) -> list[str]:
    """Those of `paths` that git would write by a program, or in another encoding."""
    return [
        path
        for path in paths
        if any(isinstance(repo.get_attr(os.fsencode(path), n), str) for n in _TREATING)
    ]


def stored_ident(repo: pygit2.Repository, project: Path, path: str) -> bytes | None:
    """What git would store of a file with `$Id$`; None for any other, as for a link.

    Raises:
        WorktreeRefused: that cannot be determined.
    """
    name = os.fsencode(path)
    if not has_ident(repo, name):
        return None
    with open_plain(project / path, links=False) as file:
        text = file.read()
    if b"$Id" not in text:
        return None
    try:
        return _attributes(repo, project).stored(name, text)
    except UnknownText as exc:
        raise WorktreeRefused(
            f"{project / path}: {exc}", ways=("do this step with git",)
        ) from None


def differing(repo: pygit2.Repository, project: Path, common: Path) -> list[str]:
    """The files that differ from the last commit, and new ones, unless ignored.

    libgit2 is not asked what is ignored: it hides more than git. `common` is the git
    folder that all work trees share.

    Raises:
        WorktreeRefused: whether a file differs cannot be determined.
    """
    from pygit2.enums import FileStatus

    new = FileStatus.WT_NEW
    found = {
        path
        for path, what in repo.status(untracked_files="all", ignored=False).items()
        # A new path with a slash is another repository.
        if (what != new or path.endswith("/"))
        and (what != FileStatus.WT_DELETED or not is_left_out(repo.index, path))
    }
    try:
        found.update(_new_files(repo, project, Ignored(project, repo, common)))
        found.update(_differing_unseen(repo, project, found))
    except PermissionError as exc:
        where = Path(exc.filename)
        folder = where if os.path.isdir(where) else where.parent
        raise WorktreeRefused(
            f"{folder} cannot be looked into: nobody can tell what is new there",
            ways=(f"{in_shell('chmod', 'u+rwx', folder)}, and do it again",),
        ) from None
    return sorted(found)


def _differing_unseen(
    repo: pygit2.Repository, project: Path, found: set[str]
) -> Iterator[str]:
    """Known files that differ for git alone; those `found` by libgit2 are left out."""
    from pygit2 import hash as blob_id

    key = "core.sparsecheckout"
    is_sparse = key in repo.config and repo.config.get_bool(key)
    for entry in repo.index:
        if entry.path in found:
            continue
        mode = mode_at(project / entry.path)
        # libgit2 reports files that are gone, and those that are not plain.
        if stat.S_ISREG(mode):
            text = stored_ident(repo, project, entry.path)
            if text is not None and blob_id(text) != entry.id:
                yield entry.path
        # A file that is there all the same is looked at by git, and not by libgit2.
        is_seen = is_sparse and mode and is_left_out(repo.index, entry.path)
        if is_seen and not _is_as(repo, project, entry):
            yield entry.path


def mode_at(place: Path) -> int:
    """The mode of what lies in a place, no link followed; 0 for nothing.

    Raises:
        PermissionError: nobody can tell. `Path.is_file` says no there, since 3.14.
    """
    try:
        return place.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def is_folder(place: Path) -> bool:
    """Whether a folder lies in a place, and no link to one."""
    return stat.S_ISDIR(mode_at(place))


def _new_files(
    repo: pygit2.Repository, project: Path, ignored: Ignored
) -> Iterator[str]:
    """The files that git knows nothing of, and does not ignore."""
    known = {os.fsencode(entry.path) for entry in repo.index}
    for above, folders, files in os.walk(project, onerror=_raise):
        inside = "" if above == str(project) else f"{os.path.relpath(above, project)}/"
        if inside and ".git" in (*folders, *files):
            # Another repository: `removal` looks for those.
            folders.clear()
            continue
        links = [name for name in folders if os.path.islink(f"{above}/{name}")]
        for path in (f"{inside}{name}" for name in (*files, *links) if name != ".git"):
            raw = os.fsencode(path)
            place = project / path
            # Of pipes and their like git says nothing.
            mode = mode_at(place)
            is_file = stat.S_ISLNK(mode) or stat.S_ISREG(mode)
            if is_file and raw not in known and not ignored.hides(raw):
                yield path
        folders[:] = [
            name
            for name in folders
            if name != ".git" and not ignored.hides(os.fsencode(f"{inside}{name}/"))
        ]


def _raise(error: OSError) -> None:
    raise error


def _is_as(repo: pygit2.Repository, project: Path, entry: pygit2.IndexEntry) -> bool:
    from pygit2 import hash as blob_id
    from pygit2.enums import ObjectType

    place, name = project / entry.path, os.fsencode(entry.path)
    mode = mode_at(place)
    if stat.S_ISLNK(mode):
        return blob_id(os.fsencode(os.readlink(place))) == entry.id
    # As a text, it could not be one that is not UTF-8.
    return stat.S_ISREG(mode) and entry.id == repo.hashfile(
        os.fspath(entry.path),
        ObjectType.BLOB,
        name,  # type: ignore[arg-type]
    )


def write_idents(repo: pygit2.Repository, folder: Path) -> list[str]:
    """Write files with `$Id$` again, as the repository keeps them; which.

    `folder` was checked out just now, and nobody else works there.
    """
    from pygit2 import IndexEntry

    found = []
    for entry in list(repo.index):
        if stat.S_ISREG(entry.mode) and has_ident(repo, os.fsencode(entry.path)):
            text = repo[entry.id].read_raw()
            if b"$Id" in text:
                how = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
                with open(os.open(folder / entry.path, how), "wb") as file:
                    file.write(text)
                # Without facts: git looks at the file itself.
                repo.index.add(IndexEntry(entry.path, entry.id, entry.mode))
                found.append(entry.path)
    if found:
        repo.index.write()
    return found


def _attributes(repo: pygit2.Repository, project: Path) -> Attributes:
    # A file of attributes that is gone is about to be committed so.
    return Attributes(repo, project, lambda _: False)


def driven(git: Git, paths: Iterable[str], *commits: CommitId) -> list[str]:
    """Those of `paths` that git would merge by a program, or in a filtered form."""
    found = []
    for path in paths:
        drivers = [
            value
            for value in _values(git, path, "merge", commits)
            if isinstance(value, str) and value not in _BUILT_IN
        ]
        filters = [
            value
            for name in _TREATING
            for value in _values(git, path, name, commits)
            if isinstance(value, str)
        ]
        if drivers or filters:
            found.append(path)
    return found


def listed(paths: Iterable[str]) -> str:
    """Some paths for a message, and how many more there are."""
    paths = [path_text(os.fsencode(path)) for path in paths]
    more = len(paths) - MAX_NAMED
    shown = ", ".join(paths[:MAX_NAMED])
    return f"{shown} and {more:,} more" if more > 0 else shown


def _values(
    git: Git, path: str, name: str, commits: Iterable[CommitId]
) -> list[str | bool | None]:
    flags = git.lib.enums.AttrCheck
    place = os.fsencode(path)
    found = [git.repo.get_attr(place, name)]
    for commit in commits:
        how = flags.INDEX_ONLY | flags.INCLUDE_COMMIT
        found.append(git.repo.get_attr(place, name, how, commit))
    return found
