"""What lies in, or uses, a worktree that is removed, and is not for it to remove."""

import os
import shutil

import pytest

from bridge import worktrees
from bridge.worktrees import UnsavedWork, WorktreeRefused, removal


def add_inner(repository, worktree, *, is_locked=False):
    """One of the same repository, such as Claude Code's, in an ignored folder."""
    repository.write(".git/info/exclude", "inner/\n")
    inner = worktree.folder / "inner/agent-1"
    repository.git("worktree", "add", "-q", str(inner), cwd=worktree.folder)
    if is_locked:
        repository.git("worktree", "lock", str(inner))
    repository.write("a", "hours of work", cwd=inner)
    return inner


def test_error_a_worktree_in_an_ignored_folder(repository, worktree):
    inner = add_inner(repository, worktree)

    with pytest.raises(UnsavedWork, match="inner/agent-1, with commits that may"):
        worktrees.remove(worktree)

    assert inner.exists()
    worktrees.remove(worktree, discard=True)
    assert not inner.exists()


def test_error_one_that_is_locked_is_not_even_discarded(repository, worktree):
    inner = add_inner(repository, worktree, is_locked=True)

    with pytest.raises(WorktreeRefused, match="agent-1 is locked"):
        worktrees.remove(worktree, discard=True)

    assert inner.exists()


@pytest.mark.parametrize("begun", ["bisect", "rebase"])
def test_error_its_branch_is_needed_elsewhere(repository, worktree, tmp_path, begun):
    """Git goes back to it, or moves it, once that has ended."""
    repository.git("switch", "-q", "--detach", cwd=worktree.folder)
    other = tmp_path / "other"
    repository.git("worktree", "add", "-q", str(other), worktree.branch)
    for name in ("x", "y", "z"):
        repository.write(name, name, cwd=other)
        repository.commit(name, cwd=other)
    repository.git("branch", "kept", worktree.branch)
    if begun == "bisect":
        repository.git("bisect", "start", "HEAD", "main", cwd=other)
    else:
        repository.git("switch", "-q", "kept", cwd=other)
        words = ("rebase", "-q", "--update-refs", "-x", "false", "main", "kept")
        repository.git("commit", "-q", "--allow-empty", "-m", "top", cwd=other)
        repository.git(*words, cwd=other, ok=False)
        updated = repository.git("rev-parse", "--git-path", "rebase-merge", cwd=other)
        assert worktree.branch in (other / updated.strip() / "update-refs").read_text()

    why = "being bisected" if begun == "bisect" else "being rebased"
    with pytest.raises(WorktreeRefused, match=f"is {why} in {other}"):
        worktrees.remove(worktree)

    assert repository.tip(worktree.branch)


def test_error_what_is_written_after_a_removal_had_taken_most(worktree, monkeypatch):
    """`.git` goes last: what is there without it is no longer what was looked at."""
    shell = os.open(worktree.folder, os.O_RDONLY)
    unlink = os.unlink

    def dying(path, **where):
        unlink(path, **where)
        if os.fspath(path).endswith(".git"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", dying)
        with pytest.raises(KeyboardInterrupt):
            worktrees.remove(worktree)
    assert os.listdir(shell) == []
    os.close(os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=shell))
    os.close(shell)

    with pytest.raises(UnsavedWork, match="holds files, and is no longer a worktree"):
        worktrees.remove(worktree)

    assert (worktree.folder / "new").exists()


def test_another_name_of_a_file_keeps_its_mode(tmp_path, monkeypatch):
    """A package manager links files from its store into a folder like this."""
    folder, stored = tmp_path / "folder", tmp_path / "stored"
    folder.mkdir()
    stored.touch(mode=0o444)
    os.link(stored, folder / "linked")
    unlink, refused = os.unlink, []

    def once(path, **where):
        if not refused:
            refused.append(path)
            raise PermissionError(13, "Permission denied", path)
        unlink(path, **where)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", once)
        patched.setattr(shutil, "_use_fd_functions", False)
        removal.remove_tree(folder)

    assert refused
    assert not folder.exists()
    assert stored.stat().st_mode & 0o777 == 0o444
