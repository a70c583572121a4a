"""Work that git does not ignore is never dropped: git decides what is ignored."""

import os
from pathlib import Path

import pytest

from bridge import worktrees
from bridge.worktrees import UnsavedWork, WorktreeRefused

# The files of patterns, and a new file that git shows as untracked.
CASES = [
    ({".gitignore": "data/*\n!README.md\n"}, "data/README.md"),
    ({".gitignore": "logs/**\n!.gitkeep\n"}, "logs/.gitkeep"),
    ({".gitignore": "vendor/*\n!mine/\n"}, "vendor/mine/work"),
    ({".gitignore": "*.log\n", "sub/.gitignore": "!keep.log\n"}, "sub/keep.log"),
    ({".gitignore": "build/\n", "sub/.gitignore": "!build/\n"}, "sub/build/work"),
    ({".gitignore": "dist/\t\n"}, "dist/work"),
    ({".gitignore": "**/\n"}, "work"),
]


def add_patterns(repository, worktree, patterns):
    """Commit files of patterns in a worktree, and merge them."""
    for name, text in patterns.items():
        repository.write(name, text, cwd=worktree.folder)
    repository.commit("patterns", cwd=worktree.folder)
    repository.git("merge", "-q", worktree.branch)


@pytest.mark.parametrize(("patterns", "work"), CASES)
def test_error_it_is_not_removed(repository, worktree, patterns, work):
    add_patterns(repository, worktree, patterns)
    repository.write(work, "work", cwd=worktree.folder)

    with pytest.raises(UnsavedWork):
        worktrees.remove(worktree)

    assert (worktree.folder / work).exists()


@pytest.mark.parametrize(("patterns", "work"), CASES)
def test_it_is_committed(repository, worktree, patterns, work):
    add_patterns(repository, worktree, patterns)
    repository.write(work, "work", cwd=worktree.folder)

    assert worktrees.commit(worktree, "work")
    assert repository.git("show", f"HEAD:{work}", cwd=worktree.folder) == "work"


def test_error_patterns_behind_a_link_hide_nothing(repository, worktree):
    folder = worktree.folder
    (folder / ".gitignore").unlink()
    (folder / ".gitignore").symlink_to("patterns")
    add_patterns(repository, worktree, {"patterns": "*.py\n"})
    repository.write("work.py", "work", cwd=folder)

    with pytest.raises(UnsavedWork):
        worktrees.remove(worktree)


def test_error_a_folder_that_cannot_be_looked_into_stays(
    repository, worktree, monkeypatch
):
    """Its owner would be let in after a change of its mode, which removing makes."""
    repository.write("secret/work", "work", cwd=worktree.folder)
    scandir = os.scandir

    def refusing(path):
        if str(path).endswith("/secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refusing)
        with pytest.raises(WorktreeRefused, match="cannot be looked into"):
            worktrees.remove(worktree)

    assert (worktree.folder / "secret/work").exists()


def test_error_a_folder_that_may_be_listed_and_not_entered_stays(
    repository, worktree, monkeypatch
):
    """`Path.is_file` says no there, since Python 3.14."""
    repository.write("secret/work", "work", cwd=worktree.folder)
    lstat = os.lstat

    def refusing(self):
        if self.parent.name == "secret":
            raise PermissionError(13, "Permission denied", str(self))
        return lstat(self)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "lstat", refusing)
        patched.setattr(Path, "is_file", lambda _: False)
        patched.setattr(Path, "is_symlink", lambda _: False)
        with pytest.raises(WorktreeRefused, match="secret cannot be looked into"):
            worktrees.remove(worktree)

    assert (worktree.folder / "secret/work").exists()


def test_error_patterns_that_lie_in_each_work_tree(repository, worktree, monkeypatch):
    """Git looks for them in the work tree, not where it was started."""
    repository.git("config", "core.excludesFile", ".extra")
    repository.write(".extra", "*.md\n")
    repository.write("notes.md", "work", cwd=worktree.folder)
    monkeypatch.chdir(repository.folder)

    with pytest.raises(UnsavedWork, match="holds notes"):
        worktrees.remove(worktree)
