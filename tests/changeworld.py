"""A project under git whose change is read; git itself makes it."""

from pathlib import Path

from gitworld import git

from bridge.change.collect import read_change

NOTHING = ("", ("Nothing differs from the last commit",))


def told(project: Path) -> tuple[str, tuple[str, ...]]:
    """What an agent is shown."""
    change = read_change(project)
    return change.diff, change.notes


def made(folder: Path, *options: str) -> Path:
    """A repository with one commit; `options` are those of `git init`."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", *options)
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (folder / "b.txt").write_text("b\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder
