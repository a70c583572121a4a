"""New files are those that git finds: what it would add is never hidden."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import gitworld
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridge.change.collect import read_change
from bridge.change.project_files import ignored_in, untracked

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.change.change import Change


@pytest.fixture
def repo(tmp_path: Path) -> gitworld.Repository:
    return gitworld.Repository(tmp_path / "app")


@pytest.fixture
def empty_repo(tmp_path: Path) -> gitworld.Repository:
    return gitworld.Repository(tmp_path / "empty", is_empty=True)


def by_git(repo: gitworld.Repository) -> set[str]:
    listed = repo.git("ls-files", "-z", "--others", "--exclude-standard")
    return set(listed.split("\0")) - {""}


def by_us(repo: gitworld.Repository) -> set[str]:
    """Without a process of its own: these are many."""
    exclude = repo.folder / ".git" / "info" / "exclude"
    found = untracked(
        repo.folder, {}, ignored_in(repo.folder, exclude), reaches=lambda _: True
    )
    return {os.fsdecode(path) for path in found}


def read(repo: gitworld.Repository) -> Change:
    return read_change(repo.folder, timeout_s=300)


def paths(change: Change) -> set[str]:
    return {each.path for each in change.files}


@pytest.mark.parametrize(
    ("patterns", "file"),
    [
        ("/build/*\n!/build/evil.py\n", "build/evil.py"),
        ("build/*\n!build/evil.py\n", "build/evil.py"),
        (".vscode/*\n!.vscode/tasks.json\n", ".vscode/tasks.json"),
        ("/*\n!/keep\n/keep/*\n!/keep/evil.py\n", "keep/evil.py"),
        ("keep/**\n!keep/evil.py\n", "keep/evil.py"),
        ("*\n!*/\n!*.py\n", "q/b/evil.py"),
        ("d/*.py\n!d/e*.py\n", "d/evil.py"),
        ("[d]/*\n!d/evil.py\n", "d/evil.py"),
    ],
)
def test_a_file_that_a_pattern_takes_back_is_shown(repo, patterns, file):
    repo.write(".gitignore", patterns)
    repo.write(file, "evil\n")

    assert file in by_git(repo)
    assert file in paths(read(repo))


@pytest.mark.parametrize("patterns", ["**/\n", "**\n!evil.py\n"])
def test_patterns_in_a_folder_say_nothing_of_that_folder(repo, patterns):
    repo.write("d/.gitignore", patterns)
    repo.write("d/evil.py", "evil\n")

    assert "d/evil.py" in by_git(repo)
    assert "d/evil.py" in paths(read(repo))


def test_a_folder_below_may_take_files_back(repo):
    repo.write(".gitignore", "d/*\n!d/.gitignore\n")
    repo.write("d/.gitignore", "!evil.py\n")
    repo.write("d/evil.py", "evil\n")

    assert "d/evil.py" in by_git(repo)
    assert "d/evil.py" in paths(read(repo))


def test_a_link_to_a_folder_is_not_ignored_as_a_folder(repo):
    repo.write(".gitignore", "out/\n")
    (repo.folder / "out").symlink_to("folder")

    assert "out" in by_git(repo)
    assert "out" in paths(read(repo))


def test_a_folder_that_is_ignored_by_its_name_is_not_looked_into(repo, monkeypatch):
    repo.write(".gitignore", "node_modules/\n")
    repo.write("web/node_modules/x/y.js", "x\n")
    asked = []
    ignored = ignored_in(repo.folder, None)
    is_ignored = ignored.is_ignored
    monkeypatch.setattr(
        ignored, "is_ignored", lambda path: asked.append(path) or is_ignored(path)
    )

    found = untracked(repo.folder, {}, ignored, reaches=lambda _: True)

    assert b"web/node_modules/x/y.js" not in set(found)
    assert not [path for path in asked if "node_modules" in path]


@pytest.mark.parametrize("kind", ["folder", "link", "junk", "lost", "half"])
def test_a_folder_with_a_git_that_is_no_repository_is_shown(repo, kind):
    repo.write("pkg/evil.py", "evil\n")
    git = repo.folder / "pkg" / ".git"
    if kind == "folder":
        git.mkdir()
    if kind == "link":
        git.symlink_to("nowhere")
    if kind == "junk":
        git.write_text("junk")
    if kind == "lost":
        git.write_text("gitdir: nowhere\n")
    if kind == "half":
        (git / "objects").mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")

    assert "pkg/evil.py" in paths(read(repo))


@pytest.mark.parametrize("is_worktree", [False, True])
def test_another_repository_is_named(repo, is_worktree):
    if is_worktree:
        repo.git("worktree", "add", "-q", "--detach", "sub")
    else:
        gitworld.Repository(repo.folder / "sub")

    change = read(repo)

    assert change.notes == ("Left out, another repository: sub/",)
    assert not change.is_whole
    assert by_git(repo) == {"sub/"}


def test_a_submodule_is_not_named_again(repo, tmp_path):
    other = gitworld.Repository(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q",
             str(other.folder), "sub")  # fmt: skip
    repo.commit("sub")

    assert read(repo).is_empty


def test_new_files_beside_tracked_ones_count_whatever_git_lies_there(repo):
    gitworld.Repository(repo.folder / "folder", is_empty=True)
    repo.write("folder/evil.py", "evil\n")

    assert "folder/evil.py" in paths(read(repo))


def test_a_folder_that_is_too_deep_is_named(repo):
    repo.write("d/" * 70 + "evil.py", "evil\n")

    change = read(repo)

    assert not change.is_whole
    assert change.notes[0].startswith("Left out, more than 64 folders deep: d/d/")


_NAMES = st.sampled_from(["a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "a*", r"\a"])
_PATTERN = st.builds(
    lambda no, root, parts, end: no + root + "/".join(parts) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(_NAMES, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
_FILE = st.lists(_PATTERN, max_size=5).map("\n".join)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(top=_FILE, below=_FILE, exclude=_FILE)
def test_whatever_is_ignored_nothing_is_hidden_that_git_finds(
    empty_repo, top, below, exclude
):
    repo = empty_repo
    for name in ("a/a/a", "a/b/ab", "a/ab", "b/a/b", "b/b", "ab/a/a", "c"):
        repo.write(name, "x")
    repo.write(".gitignore", top)
    repo.write("a/.gitignore", below)
    repo.write(".git/info/exclude", exclude)

    missing = by_git(repo) - by_us(repo)

    assert not missing
