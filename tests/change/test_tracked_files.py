"""Tracked files: nothing that git would commit is taken for unchanged."""

import itertools
import os
import re
import shutil
import time

import gitworld
import pytest

from bridge.change.change import Change
from bridge.change.collect import read_change
from bridge.change.comparison import MAX_NAMED
from bridge.change.scope import parse_scope
from bridge.validation.complexity import assess
from bridge.worktrees.attributes import listed

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path):
    return gitworld.Repository(tmp_path / "app")


def read(repo, *words: str, staged: bool = False, **options: int) -> Change:
    scope = parse_scope(words, staged=staged, project=str(repo.folder))
    return read_change(repo.folder, scope, **options)


def test_a_change_of_the_same_size_and_time_is_shown(repo):
    facts = (repo.folder / "a").stat()
    time.sleep(0.05)
    repo.git("commit", "-q", "--allow-empty", "-m", "later")
    repo.write("new", "x\n")
    repo.git("add", "new")
    repo.write("a", "one\nTWO\nthree\n")
    os.utime(repo.folder / "a", ns=(facts.st_atime_ns, facts.st_mtime_ns))

    assert "+TWO" in read(repo, "--", "a").diff


def test_a_removed_file_that_is_still_there_is_a_change_of_it(repo):
    repo.git("rm", "-q", "--cached", "a")
    repo.write("a", "evil\n")

    change = read(repo)

    assert "+evil" in change.diff
    assert [(f.path, f.is_deleted) for f in change.files] == [("a", False)]
    assert "-two" in change.diff.partition(STAGED)[2]
    assert change.is_whole


STAGED = "As it is staged, not as it is in the project:\n"


def blocks(diff: str) -> set[str]:
    """The diffs of single files, without the ids of their texts."""
    text = re.sub(r"^index .*\n", "", diff.replace(STAGED, ""), flags=re.M)
    return {each.rstrip("\n") for each in text.split("diff --git ")[1:]}


def test_all_that_a_commit_could_take_is_shown(repo):
    """By `git commit`, and by `git add -A` before it: both, and nothing else."""
    texts = (None, "one\n", "two\n", "three\n")
    states = {"-".join(map(str, each)).replace("\n", ""): each
              for each in itertools.product(texts, repeat=3)}  # fmt: skip
    for place in range(3):
        for name, state in states.items():
            text = state[place]
            if text is not None:
                repo.write(name, text)
            else:
                (repo.folder / name).unlink(missing_ok=True)
        if place < 2:
            repo.git("add", "-A")
        if place == 0:
            repo.git("commit", "-qm", "all")

    change = read(repo)

    apart = {name for name, (head, index, file) in states.items()
             if index not in (head, file)}  # fmt: skip
    by_commit = blocks(repo.git("diff", "--cached", "--no-renames"))
    repo.git("add", "-A")
    by_all = blocks(repo.git("diff", "--cached", "--no-renames"))
    assert blocks(change.diff) == by_commit | by_all
    assert {each.path for each in change.files if each.staged} == apart
    assert change.aside.startswith("Staged otherwise than in the project, so that")
    assert change.is_whole
    assert change.is_in_files


def test_a_removed_file_that_is_ignored_now_is_deleted(repo):
    repo.git("rm", "-q", "--cached", "a")
    repo.write("a", "mine\n")
    repo.write(".gitignore", "/a\n")

    change = read(repo, "--", "a")

    assert [(f.path, f.is_deleted) for f in change.files] == [("a", True)]
    assert change.is_whole


def test_text_that_is_named_can_be_read_in_the_project(repo):
    repo.write("a", "words\n" * 2000)

    change = read(repo, max_chars=3000)

    assert not change.is_whole
    assert change.is_rest_in_files


@pytest.mark.parametrize(
    "what", ["binary", "secret", "large", "many", "text", "repository", "name"]
)
def test_what_cannot_be_read_in_the_project(repo, what):
    for number in range(3):
        repo.write(f"a{number}", f"word {number}\n" * 300)
    match what:
        case "binary":
            (repo.folder / "k").write_bytes(b"\0\1")
        case "secret":
            repo.write(".env", "x\n")
        case "large":
            repo.write("k", "x\n" * 400_000)
        case "many":
            for number in range(MAX_NAMED + 1):
                repo.write(f"k{number}", "x\n")
        case "repository":
            gitworld.Repository(repo.folder / "k")
        case "name":
            repo.write("k\n", "x\n")

    change = read(repo, max_chars=600)

    assert not change.is_whole
    assert change.files
    assert change.is_rest_in_files is (what == "text")


def test_commands_would_run_on_other_files_than_a_commit_has(repo):
    repo.write("a", "two\n")
    repo.commit("second")
    assert read(repo, "HEAD~1..HEAD").is_in_files
    assert read(repo, "HEAD~1..HEAD", "--", "a").is_in_files

    repo.write("folder/b", "other\n")
    assert not read(repo, "HEAD~1..HEAD").is_in_files
    assert not read(repo, "HEAD~1..HEAD", "--", "a").is_in_files

    repo.git("checkout", "-q", "folder/b")
    repo.write("new.py", "x\n")
    repo.write("new.log", "x\n")
    change = read(repo, "HEAD~1..HEAD")
    assert (change.is_in_files, change.beside) == (True, "new.py")
    assert read(repo).beside == ""


def test_commands_would_run_on_other_files_than_what_is_staged(repo):
    repo.write("a", "two\n")
    repo.git("add", "a")
    assert read(repo, staged=True).is_in_files

    repo.write("folder/b", "other\n")
    assert not read(repo, staged=True).is_in_files

    repo.git("checkout", "-q", "folder/b")
    repo.write("new.py", "x\n")
    assert read(repo, staged=True).is_in_files


def test_bytes_that_are_not_utf_8_are_told_apart(repo):
    """Nobody has approved what was staged while validators looked at another byte."""
    shown = []
    for byte in (b"\xe8", b"\xe9"):
        (repo.folder / "a").write_bytes(byte + b"\n")
        repo.git("add", "a")
        (repo.folder / "a").unlink()
        shown.append(read(repo, staged=True))

    assert "+\\xe8" in shown[0].diff
    assert shown[0].digest != shown[1].digest


@pytest.fixture
def with_submodule(repo, tmp_path):
    repo.add_submodule(tmp_path / "other")
    return repo


def test_a_submodule_at_another_commit_is_named_before_it_is_staged(with_submodule):
    """As `git commit -a` would take it."""
    repo = with_submodule
    assert read(repo).is_empty
    repo.git("-c", "user.name=A", "-c", "user.email=a@x.org", "commit", "-q",
             "--allow-empty", "-m", "evil", cwd=repo.folder / "sub")  # fmt: skip

    change = read(repo)

    assert repo.status() == [" M sub"]
    assert change.notes == ("Left out, another commit of a submodule: sub",)
    assert not change.is_whole
    assert not read(repo, "HEAD~1..HEAD").is_in_files


def test_a_submodule_that_is_gone_is_deleted(with_submodule):
    repo = with_submodule
    shutil.rmtree(repo.folder / "sub")

    change = read(repo)

    assert repo.status() == [" D sub"]
    assert [(each.path, each.is_deleted) for each in change.files] == [("sub", True)]
    assert not change.is_whole


def test_a_submodule_that_is_not_checked_out_has_not_changed(with_submodule):
    repo = with_submodule
    repo.git("submodule", "deinit", "-q", "sub")

    assert read(repo).is_empty
    assert read(repo, "HEAD~1..HEAD").is_in_files


def test_a_submodule_that_cannot_be_read_is_named(with_submodule, tmp_path):
    repo = with_submodule
    (repo.folder / "sub" / ".git").write_text(f"gitdir: {tmp_path}/other/.git\n")

    change = read(repo)

    assert change.notes == ("Left out, a submodule that is not read: sub",)
    assert not change.is_whole


def test_a_name_is_one_line_that_can_be_read_wherever_it_is_told(repo):
    """Some programs end a line at U+2028; others turn the words round at U+202E."""
    signs = ("\u2028", "\u2029", "\x85", "\u202e", "\x1b", "\n", "\u200b", "\xa0")
    for sign in signs:
        repo.write(f"a{sign}b.py", "x\n")
        (repo.folder / f"a{sign}b.bin").write_bytes(b"\0")

    repo.write(".gitattributes", "*.enc working-tree-encoding=x\u2028y\n")
    repo.write("x.enc", "x\n")
    repo.write("d\u2028/.gitattributes", "x" * 2048)
    repo.write("d\u2028/x", "x\n")

    change = read(repo)

    assessed = assess(change)
    names = listed([f"a{sign}b.py" for sign in signs])
    lines = [*change.notes, *assessed.reasons, *assessed.parsable, names]
    assert len(assessed.parsable) == len(signs)
    assert [each for each in lines if not each.isprintable()] == []
    told = [each for each in change.diff.split("\n") if each[:1] != "+"]
    assert [each for each in told if not each.isprintable()] == []
    (repo.folder / ".git/HEAD").write_text("ref: x\u2028y\nz\n")
    assert read(repo).notes[0].endswith(r" leads to x\u2028y\nz")
