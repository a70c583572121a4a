"""What we read of a change, beside what git says of it."""

import os
from pathlib import Path

import gitworld

from bridge.change.change import Change
from bridge.change.collect import read_change
from bridge.change.scope import parse_scope


def two_branches(folder: Path) -> gitworld.Repository:
    """Two branches that parted, with whatever git tells apart in them."""
    repo = gitworld.Repository(folder)
    repo.write("gone.py", "one\ntwo\n")
    repo.write("moved.txt", "a\nb\nc\n")
    repo.write("crlf.txt", "a\r\nb\r\n")
    repo.write("run.sh", "echo\n")
    (repo.folder / "data.bin").write_bytes(b"\0\1\2")
    repo.commit("second")
    repo.git("tag", "-a", "v1", "-m", "v1")
    repo.git("checkout", "-qb", "feature/x")
    (repo.folder / "gone.py").unlink()
    (repo.folder / "moved.txt").rename(repo.folder / "folder" / "moved.txt")
    repo.write("a", "one\n2\nthree\nfour\n")
    repo.write("crlf.txt", "a\nb\n")
    (repo.folder / "run.sh").chmod(0o755)
    (repo.folder / "data.bin").write_bytes(b"\0\1\2\3")
    (repo.folder / "link").unlink()
    (repo.folder / "link").symlink_to("folder/b")
    repo.write("new é.py", "x = 1\n")
    (repo.folder / os.fsdecode(b"latin-\xe9.txt")).write_text("x\n")
    repo.write("empty", "")
    repo.commit("third")
    repo.git("checkout", "-q", "main")
    repo.write("only-main", "m\n")
    repo.commit("fourth")
    return repo


def read(repo: gitworld.Repository, *words: str, staged: bool = False) -> Change:
    project = str(repo.folder)
    scope = parse_scope(words, staged=staged, project=project)
    return read_change(repo.folder, scope, timeout_s=300)


def by_git(repo: gitworld.Repository, *words: str) -> dict[str, tuple[str, str, str]]:
    """Of each file what git says: its status, and the lines added and removed."""
    options = ("-c", "core.quotePath=false", "diff", "-z", "--no-renames")
    found = repo.git(*options, "--name-status", *words).split("\0")
    kinds = dict(zip(found[1::2], found[0::2], strict=False))
    counted = {}
    for line in repo.git(*options, "--numstat", *words).split("\0"):
        if line:
            added, removed, path = line.split("\t", 2)
            counted[path] = (kinds[path], added, removed)
    return counted


def by_us(change: Change) -> dict[str, tuple[str, str, str]]:
    """The same of what we read; a byte that is no UTF-8 as the tests' git prints it."""
    found = {}
    for each in change.files:
        kind = "A" if each.is_new else "D" if each.is_deleted else "M"
        lines = [
            "-" if each.is_binary else str(number)
            for number in (each.added, each.removed)
        ]
        found[each.path.replace(r"\xe9", "\ufffd")] = (kind, *lines)
    return found


def same(ours: dict[str, tuple[str, str, str]], gits: dict[str, tuple[str, ...]]):
    """A change of type is one for us, where git has a letter for it."""
    gits = {path: (kind.replace("T", "M"), *n) for path, (kind, *n) in gits.items()}
    assert ours == gits
