"""Merge a branch into another one, and into the work tree where that is checked out.

    work tree      each file is replaced whole, if it is as the old commit had it
    index          put in place at once
    branch         moves last

A merge that is killed in between is made again from the start: files that are new
already are as good as old ones. A merge that conflicts changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bridge.policy.tool_paths import governs_sessions
from bridge.worktrees import refs
from bridge.worktrees.attributes import check_unfiltered, driven, listed
from bridge.worktrees.entries import is_unfinished, tree_of, users_of
from bridge.worktrees.index_file import IndexCopy, conflicts_of
from bridge.worktrees.refused import DirtyFiles, WorktreeRefused
from bridge.worktrees.repository import Git, bounded, opened
from bridge.worktrees.work_tree import Change, changes, dirty, publish, seen

if TYPE_CHECKING:
    import pygit2

    from bridge.worktrees.repository import Git
    from bridge.worktrees.worktree import CommitId


@dataclass(frozen=True, slots=True)
class Merged:
    """A branch is merged.

    Attributes:
        commit: where the branch that it was merged into is now.
        how: whether a commit of two parents was made, the branch only moved on, or all
            was in it already.
    """

    commit: CommitId
    how: Literal["merged", "fast-forward", "already"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A branch cannot be merged; nothing was changed, it and its worktree are kept.

    Attributes:
        branch: what was to be merged.
        into: the branch that has changed the same places.
        files: those that both change.
        change: all that `branch` changes, as `patches.patch` gives it.
    """

    branch: str
    into: str
    files: tuple[str, ...]
    change: str = field(default="", compare=False)

    def __str__(self) -> str:
        """The sentence for a person, with the way out."""
        return (
            f"{self.branch!r} does not merge into {self.into!r}: both change "
            f"{listed(self.files)}. Nothing was merged, and the branch is kept. "
            f"What to do: in its worktree, git merge {self.into}, resolve, commit, and "
            "merge again"
        )


@bounded
def merge(
    project: Path, branch: str, into: str, *, message: str | None = None
) -> Merged | Conflict:
    """Merge `branch` into the branch `into` of a project's repository.

    Where `into` is checked out in the project, its work tree follows; where it is
    another name of a branch (`git symbolic-ref`), that branch moves. No hook runs, and
    nothing is signed.

    Raises:
        DirtyFiles: the merge would overwrite changes that are not committed.
        RepositoryBusy: somebody else is changing the repository.
        WorktreeRefused: a branch is missing, or `into` is in use elsewhere.
    """
    with opened(project) as git:
        into = refs.real_name(git, refs.HEADS + into).removeprefix(refs.HEADS)
        old, theirs = refs.get_tip(git, into), refs.get_tip(git, branch)
        if old == theirs or git.repo.descendant_of(old, theirs):
            return Merged(old, "already")
        if git.repo.descendant_of(theirs, old):
            _update(git, into, old, theirs, f"merge {branch}: Fast-forward")
            return Merged(theirs, "fast-forward")
        tree = _merged_tree(git, branch, into)
        if isinstance(tree, Conflict):
            return tree
        who = refs.signature(git)
        text = message or f"Merge branch {branch!r} into {into}"
        made = git.repo.create_commit(None, who, who, text, tree, [old, theirs])
        _update(git, into, old, str(made), f"merge {branch}: by hostbridge")
        return Merged(str(made), "merged")


@bounded
def current_branch(project: Path) -> str:
    """The branch that is checked out in a project.

    Raises:
        WorktreeRefused: there is none: a detached HEAD, or no commit yet.
    """
    with opened(project) as git:
        name = refs.head_of(git.folder)
        if not name:
            raise WorktreeRefused(
                f"{git.project} is on no branch (its HEAD is detached)",
                ways=("git switch to a branch", "or name the branch"),
            )
        refs.refuse_unborn(git)
        return name.removeprefix(refs.HEADS)


def _merged_tree(git: Git, branch: str, into: str) -> str | Conflict:
    ours, theirs = refs.get_tip(git, into), refs.get_tip(git, branch)
    base = git.repo.merge_base(ours, theirs)
    if base is None:
        raise WorktreeRefused(
            f"{git.project}: {branch!r} and {into!r} have no commit in common",
            ways=("git merge --allow-unrelated-histories, if that is what you want",),
        )
    sides = [
        {change.path for change in changes(_tree(git, str(base)), _tree(git, side))}
        for side in (ours, theirs)
    ]
    by_program = driven(git, sorted(sides[0] & sides[1]), ours, theirs)
    if by_program:
        return Conflict(branch, into, tuple(by_program), patch(git, str(base), theirs))
    index = git.repo.merge_commits(ours, theirs)
    if files := conflicts_of(index):
        return Conflict(branch, into, files, patch(git, str(base), theirs))
    return str(index.write_tree(git.repo))


def _tree(git: Git, commit: CommitId) -> pygit2.Tree:
    tree: pygit2.Tree = git.repo[commit].peel(git.lib.Tree)
    return tree


def _update(git: Git, into: str, old: CommitId, new: CommitId, why: str) -> None:
    _refuse_in_use(git, into)
    planned = changes(_tree(git, old), _tree(git, new))
    _refuse_governing(git, planned)
    if not refs.is_checked_out(git, into):
        refs.move(git, into, old, new, why=why)
        return
    _refuse_unfit(git, planned, old, new)
    stage = git.locks.stage()
    with git.locks.held(git.folder / "index") as lock:
        if not refs.is_checked_out(git, into) or refs.tip(git, into) != old:
            raise refs.moved(git, into)
        index = IndexCopy(git, git.folder, stage)
        before = seen(git, planned)
        _refuse_dirty(git, index, planned, into)
        index.put_all({change.path: change.new for change in planned})
        publish(git, planned, stage / "file", before)
        lock.replace(index.data())
        refs.move(git, into, old, new, why=why)


def _refuse_governing(git: Git, planned: list[Change]) -> None:
    """Refuse what no agent may change: a person looks at it, and merges it."""
    files = [change.path for change in planned if governs_sessions(change.path)]
    if files:
        raise WorktreeRefused(
            f"{git.project}: the branch changes what governs sessions here: "
            f"{listed(files)}",
            ways=("look at it, and merge with git",),
        )


def _refuse_unfit(
    git: Git, planned: list[Change], old: CommitId, new: CommitId
) -> None:
    config = git.repo.config
    if "core.sparsecheckout" in config and config.get_bool("core.sparsecheckout"):
        raise WorktreeRefused(
            f"{git.project} is a sparse checkout, whose files libgit2 does not merge",
            ways=("git sparse-checkout disable", "or merge with git"),
        )
    if is_unfinished(git.folder):
        raise WorktreeRefused(
            f"{git.project} is in the middle of a merge, a rebase or the like",
            ways=("git status says how to end it",),
        )
    paths = [change.path for change in planned]
    check_unfiltered(git, paths, "write it", old, new)


def _refuse_dirty(git: Git, index: IndexCopy, planned: list[Change], into: str) -> None:
    staged = {
        change.path
        for change in planned
        if index[change.path] not in (change.old, change.new)
    }
    unresolved = set(index.conflicts) & {change.path for change in planned}
    files = tuple(sorted({*staged, *unresolved, *dirty(git, planned)}))
    if files:
        raise DirtyFiles(
            f"{git.project}: merging into {into!r} would overwrite what is not "
            f"committed: {listed(files)}",
            files,
        )


def _refuse_in_use(git: Git, branch: str) -> None:
    """Refuse a branch that another work tree has checked out, or is rebasing."""
    for folder, what in users_of(git, branch):
        if folder != git.folder or what != "checked out":
            raise WorktreeRefused(
                f"{git.project}: the branch {branch!r} is {what} in "
                f"{tree_of(git, folder)}",
                ways=("merge there with git", "or check out another branch there"),
            )


MAX_CHARS = 100_000


def patch(git: Git, old: CommitId, new: CommitId) -> str:
    """A unified diff of at most some `MAX_CHARS`; files left out are named at its end.

    Of a binary file it only says that it differs.
    """
    shown: list[str] = []
    left_out: list[str] = []
    size = 0
    for each in filter(None, git.repo.diff(old, new)):
        text = each.data.decode("utf-8", "replace")
        size += len(text)
        if size <= MAX_CHARS:
            shown.append(text)
        else:
            size -= len(text)
            left_out.append(each.delta.new_file.path)
    if left_out:
        shown.append(f"Left out, too long: {', '.join(left_out)}\n"[:MAX_CHARS])
    return "".join(shown)
