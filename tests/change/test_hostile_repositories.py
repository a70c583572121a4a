"""Repositories that are traps, broken or too much: nothing runs, and a note says so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from gitworld import git

from bridge.change.collect import read_change

if TYPE_CHECKING:
    from pathlib import Path


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

    change = read_change(project, timeout_s=2 if "fifo" in harm else 300)

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

    change = read_change(project, timeout_s=24)

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
