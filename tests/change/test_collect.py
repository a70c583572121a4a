"""The change that is not committed: as git shows it, and nothing in it is obeyed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from bridge.change.collect import read_change

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = ("", ("Nothing differs from the last commit",))


def told(project: Path) -> tuple[str, tuple[str, ...]]:
    """What an agent is shown."""
    change = read_change(project)
    return change.diff, change.notes


def git(folder: Path, *words: str) -> str:
    """Git itself makes what is read here; in the tests alone."""
    found = subprocess.run(
        ["git", "-c", "user.name=u", "-c", "user.email=u@x.org", *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C"},
        check=True,
        capture_output=True,
        text=True,
    )
    return found.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return made(tmp_path / "app")


def made(folder: Path, *options: str) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", *options)
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (folder / "b.txt").write_text("b\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


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

    assert notes == ()
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
        "diff --git a/new.py b/new.py\n"
        "new file mode 100644\n"
        "--- /dev/null\n"
        "+++ b/new.py\n"
        "@@ -0,0 +1 @@\n"
        "+x = 1"
    )


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
    assert "pipe" in "".join(change.notes)


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


def test_ends_of_lines_that_a_checkout_may_have_made_are_named(project):
    """They are a setting, and settings are not read."""
    (project / "src" / "a.py").write_bytes(b"one\r\n2\r\nthree\r\n")

    diff, notes = told(project)

    assert diff.endswith("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three")
    assert notes == (
        "Every line ends with CRLF in the files, which is not in the diff: src/a.py",
    )


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


def test_a_long_hash(tmp_path):
    project = made(tmp_path / "app", "--object-format=sha256")
    assert told(project) == NOTHING
    (project / "b.txt").write_text("c\n")

    assert "-b\n+c" in read_change(project).diff


def trap(project: Path, marker: Path) -> None:
    """Whatever of a repository starts a program: each leaves a mark."""
    script = project.parent / "trap"
    script.write_text(f"#!/bin/sh\necho ran >> {marker}\ncat\n")
    script.chmod(0o755)
    for name in (
        "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor",
        "diff.external", "diff.t.textconv", "diff.t.command", "filter.f.clean",
        "filter.f.smudge", "filter.f.process", "credential.helper", "gpg.program",
    ):  # fmt: skip
        git(project, "config", name, str(script))
    git(project, "config", "core.hooksPath", str(project.parent))
    (project / ".gitattributes").write_text("* diff=t filter=f\n")
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman"):
        shutil.copy(script, project / ".git" / "hooks" / hook)


def test_nothing_of_the_repository_runs(project, tmp_path):
    """The same traps catch git: they are set."""
    marker = tmp_path / "ran"
    (project / "b.txt").write_text("c\n")
    trap(project, marker)

    assert "-b\n+c" in read_change(project).diff
    assert not marker.exists()
    subprocess.run(["git", "diff"], cwd=project, check=False, capture_output=True)
    assert marker.exists()


def test_a_partial_clone_fetches_nothing(project, tmp_path):
    (project / "b.txt").write_text("second\n")
    git(project, "commit", "-qam", "second")
    git(project, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout",
        f"file://{project}", str(clone))  # fmt: skip
    marker = tmp_path / "ran"
    trap(clone, marker)
    git(clone, "config", "remote.origin.url", "ssh://x.invalid/x")
    (clone / "b.txt").write_text("mine\n")

    change = read_change(clone)

    assert "Left out, changed, and this clone lacks its text" in str(change)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        ("rm -rf .git", "the project is no git repository"),
        ("rm -rf .git/objects/*", "this clone lacks the object"),
        ("printf junk > .git/index", "the repository is broken"),
        ("printf junk > .git/HEAD", "the repository is broken"),
        ("rm .git/HEAD; mkfifo .git/HEAD", "it took more than 2 s"),
        ("for f in .git/objects/*/*; do chmod +w $f; echo > $f; done", "broken"),
        ("echo ../../other/.git > .git/commondir", "belongs to another repository"),
        ("mv .git ../g; ln -s ../g .git", "is neither a folder nor a file"),
        ("mv .git ../g; echo 'gitdir: ../g' > .git", "does not know this folder"),
        ("mv .git/objects ../o; ln -s ../../o .git/objects", "leads to"),
        ("echo /o/.git/objects > .git/objects/info/alternates", "borrows from another"),
        (
            "cd .git/objects; for d in ??; do mv $d ../../..; ln -s ../../../$d; done",
            "leads to",
        ),
        ("cd .git/objects; rm -r pack; ln -s ../../../o pack", "leads to"),
        ("cd .git/objects/pack; ln -s ../../../../p.pack", "leads to"),
        (
            "mv .git/refs/heads/main ../m; ln -s ../../../../m .git/refs/heads/main",
            "leads to",
        ),
        ("echo ref: ../../other/.git/HEAD > .git/HEAD", "leads to"),
        (
            (
                "echo ref: refs/heads/x > .git/HEAD; echo ref: refs/heads/y > "
                ".git/refs/heads/x; ln -s ../../../../m .git/refs/heads/y"
            ),
            "leads to",
        ),
        ("rm .git/index; ln -s /dev/zero .git/index", "leads to"),
    ],
)
def test_error_a_repository_that_cannot_be_read(project, harm, why):
    """In the prompt: a judge who sees no change must know that there may be one."""
    subprocess.run(["sh", "-c", harm], cwd=project, check=True)

    change = read_change(project, timeout_s=2 if "fifo" in harm else 10)

    assert change.diff == ""
    (note,) = change.notes
    assert note.startswith("The change could not be read: ")
    assert why in note


def test_a_file_that_takes_too_long_hides_no_other(project):
    """No machine compares this in the time: it takes some 10^11 steps.

    101 lines are repeated without end, in an order that no two of them share with the
    other text. So a diff looks through all of both (line by line, each of them at 1% of
    the other) to match a single line, and then again, thousands of times.
    """
    for step in (1, 2):
        lines = (str(step * each % 101) for each in range(150_000))
        (project / "a.csv").write_text("\n".join(lines))
        if step == 1:
            git(project, "add", ".")
            git(project, "commit", "-qm", "data")
    (project / "src" / "a.py").write_text("two\n")

    change = read_change(project, timeout_s=20)

    assert "+++ b/src/a.py" in change.diff
    assert change.notes == ("Left out, it takes too much to compare: a.csv",)


def test_patterns_that_take_too_long_hide_no_change(project):
    """Files that git knows are compared, though not all new ones could be looked at."""
    (project / "src" / "a.py").write_text("two\n")
    (project / ".gitignore").write_text("*a" * 40 + "b\n")
    (project / ("a" * 200)).write_text("new\n")

    change = read_change(project, timeout_s=8)

    assert "+++ b/src/a.py" in change.diff
    assert change.notes == (
        "The time for reading the change was up: there may be more",
    )


@pytest.mark.parametrize(
    "deed",
    [
        "subprocess.run(['true'])",
        "os.system('true')",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "socket.socket()",
        "open('made', 'w')",
        "os.open('made', os.O_CREAT | os.O_WRONLY)",
        "os.mkdir('made')",
        "os.remove('b.txt')",
        "os.rename('b.txt', 'made')",
        "os.symlink('b.txt', 'made')",
    ],
)
def test_the_reader_can_do_no_more_than_read(project, deed):
    """Whatever dulwich does, now or in a version to come."""
    code = (
        "import os, subprocess, socket\n"
        "from bridge.change.reader import confine, Forbidden\n"
        f"confine()\ntry:\n    {deed}\nexcept Forbidden:\n    os._exit(42)\n"
    )

    ran = subprocess.run([sys.executable, "-c", code], cwd=project, check=False)

    assert ran.returncode == 42
    assert not (project / "made").exists()
    assert (project / "b.txt").exists()
