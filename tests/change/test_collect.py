"""The change that is not committed: as git shows it."""

import os
import shutil
import subprocess
import time

import pytest
from changeworld import NOTHING, made, told
from gitworld import git

from bridge.change.collect import read_change
from bridge.process.run import Stopped


def test_no_change(project):
    assert told(project) == NOTHING


def test_staged_unstaged_new_and_deleted_files(project):
    """All that the next commit could become, in one diff."""
    (project / "src" / "a.py").write_text("one\n2\nthree\n")
    git(project, "add", ".")
    (project / "src" / "a.py").write_text("one\n2\nthree\nfour")
    (project / "b.txt").unlink()
    (project / "new.py").write_text("x = 1\n")

    diff, notes = told(project)

    assert notes == (
        (
            "Staged otherwise than in the project, so that `git commit` takes something"
            " else than `git commit -a`: src/a.py"
        ),
    )
    assert diff == (
        "diff --git a/b.txt b/b.txt\n"
        "deleted file mode 100644\n"
        "--- a/b.txt\n"
        "+++ /dev/null\n"
        "@@ -1 +0,0 @@\n"
        "-b\n"
        "diff --git a/src/a.py b/src/a.py\n"
        "--- a/src/a.py\n"
        "+++ b/src/a.py\n"
        "@@ -1,3 +1,4 @@\n"
        " one\n"
        "-two\n"
        "+2\n"
        " three\n"
        "+four\n"
        "\\ No newline at end of file\n"
        "As it is staged, not as it is in the project:\n"
        "diff --git a/src/a.py b/src/a.py\n"
        "--- a/src/a.py\n"
        "+++ b/src/a.py\n"
        "@@ -1,3 +1,3 @@\n"
        " one\n"
        "-two\n"
        "+2\n"
        " three\n"
        "diff --git a/new.py b/new.py\n"
        "new file mode 100644\n"
        "--- /dev/null\n"
        "+++ b/new.py\n"
        "@@ -0,0 +1 @@\n"
        "+x = 1"
    )


def test_a_reader_that_waits_is_stopped_with_its_run(project):
    (project / ".git/config").unlink()
    os.mkfifo(project / ".git/config")
    began = time.monotonic()

    with pytest.raises(Stopped):
        read_change(project, should_stop=lambda: time.monotonic() > began + 0.5)

    assert time.monotonic() - began < 30


def test_git_takes_it_for_a_patch(project):
    """And the result of that patch is what lies there."""
    text = "one\n2\nthree\nfour"
    (project / "src" / "a.py").write_text(text)
    diff = read_change(project).diff
    git(project, "checkout", "-q", ".")

    subprocess.run(["patch", "-p1", "-s"], cwd=project, input=diff + "\n", text=True,
                   check=True)  # fmt: skip

    assert (project / "src" / "a.py").read_text() == text


def test_before_the_first_commit(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a\n")

    assert "+++ b/a" in read_change(tmp_path).diff


def test_ignored_files_are_left_alone_and_secrets_named(project):
    (project / ".gitignore").write_text("*.log\nbuild/\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "ignore")
    (project / "a.log").write_text("noise\n")
    (project / "build").mkdir()
    (project / "build" / "x").write_text("made\n")
    (project / ".git" / "info" / "exclude").write_text("mine\n")
    (project / "mine").write_text("mine\n")
    (project / ".env").write_text("KEY=hunter2\n")
    (project / "k.bin").write_bytes(b"\0\1")

    assert told(project) == (
        "",
        ("Left out, it may hold secrets: .env", "Left out, binary: k.bin"),
    )


def test_links_are_named_and_not_followed(project):
    (project / "out").symlink_to("/etc/passwd")
    shutil.rmtree(project / "src")
    (project / "src").symlink_to("/etc")
    os.mkfifo(project / "pipe")

    change = read_change(project)

    assert "root:" not in str(change)
    assert "+/etc/passwd" in change.diff
    assert "-three" in change.diff
    # Which git does not take for a file.
    assert change.notes == ()


def test_a_large_change_names_what_is_left_out(project):
    for number in range(8):
        (project / f"n{number}.txt").write_text("words and words\n" * 1100)
    (project / "huge.txt").write_text("x\n" * 400_000)
    (project / "long.txt").write_text("words and words\n" * 5000)

    change = read_change(project)

    assert len(change.diff) <= 60_000
    assert change.notes == (
        "Left out, changed, too large: huge.txt",
        "Left out, what comes after its first 20,000 characters: long.txt",
        (
            "Left out, over 60,000 characters in all: n2.txt, n3.txt, n4.txt, n5.txt, "
            "n6.txt, n7.txt"
        ),
    )


def test_ends_of_lines_are_shown(project):
    """A script whose first line ends with CRLF does not start."""
    (project / "b.txt").write_bytes(b"b\r\n")
    (project / "new.sh").write_bytes(b"#!/bin/sh\r\n")
    (project / "src" / "a.py").write_bytes(b"one\r\ntwo\nthree\n")

    diff, notes = told(project)

    assert "-b\n+b\r" in diff
    assert "+#!/bin/sh\r" in diff
    assert "-one\n+one\r\n two" in diff
    assert notes == ()


def test_ends_of_lines_are_shown_where_no_setting_made_them(project):
    """Every line is another then, for git, too."""
    (project / "src" / "a.py").write_bytes(b"one\r\n2\r\nthree\r\n")

    diff, notes = told(project)

    assert diff.endswith("-one\n-two\n-three\n+one\r\n+2\r\n+three\r")
    assert notes == ()


def test_a_checkout_with_other_ends_of_lines_is_no_change(project):
    git(project, "config", "core.autocrlf", "true")
    (project / "b.txt").unlink()
    git(project, "checkout", "-q", "b.txt")

    assert (project / "b.txt").read_bytes() == b"b\r\n"
    # What is as old as the index is read; so the index is written again.
    time.sleep(0.05)
    (project / "n").touch()
    git(project, "add", "n")
    assert [each.path for each in read_change(project).files] == ["n"]


def test_names_with_line_breaks_stay_on_one_line(project):
    (project / "a\n+++ b.py").write_text("x\n")

    assert '+++ b/"a\\n+++ b.py"' in read_change(project).diff


def test_linked_worktrees_and_submodules(project, tmp_path):
    git(project, "worktree", "add", "-q", str(tmp_path / "wt"))
    outer = made(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q",
        str(project), "sub")  # fmt: skip
    git(outer, "commit", "-qm", "sub")
    for folder in (tmp_path / "wt", outer / "sub"):
        assert told(folder) == NOTHING
        (folder / "b.txt").write_text("c\n")
        assert "-b\n+c" in read_change(folder).diff
    assert told(outer) == NOTHING


def test_error_a_long_hash(tmp_path):
    """libgit2 reads none: the change is not taken for empty."""
    project = made(tmp_path / "app", "--object-format=sha256")

    diff, (note,) = told(project)

    assert diff == ""
    assert note == (
        f"The change could not be read: {project}: unknown object format 'sha256'. "
        "What to do: work in a clone without it: libgit2 does not read such "
        "repositories"
    )
