"""Work in a worktree, and its merge."""

from gitworld import Repository

from bridge import worktrees
from bridge.worktrees import Merged, Worktree

BRANCH = "hostbridge/run1/dev"
# Lines between two signs of an id: git keeps them, libgit2 puts an id in their place.
IDENT = "# $Id\nimport os\n# $\n"


def done(repository: Repository, worktree: Worktree, **files: str | None) -> str | None:
    """Commit files in the worktree; None removes one."""
    for name, text in files.items():
        if text is None:
            (worktree.folder / name).unlink()
        else:
            repository.write(name, text, cwd=worktree.folder)
    return worktrees.commit(worktree, "work")


def merge(repository: Repository, into: str = "main") -> Merged:
    """Merge the worktree's branch."""
    return worktrees.merge(repository.folder, BRANCH, into)


def part(repository: Repository) -> None:
    """Two branches, `main` and `side`, that cannot be merged by themselves."""
    repository.git("switch", "-qc", "side")
    repository.write("a", "side\n")
    repository.commit("side")
    repository.git("switch", "-q", "main")
    repository.write("a", "main\n")
    repository.commit("main")
