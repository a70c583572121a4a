"""Whatever state a repository is in, we see the change that the user's git sees."""

import os
import shutil
import socket
from pathlib import Path

import gitworld
import pytest
from gitcomparison import by_git, by_us, same
from gitworld import Repository

from bridge.api.validate import of_caller
from bridge.change.collect import read_change
from bridge.change.scope import Scope

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path, monkeypatch):
    """One with many files, and a user who has a home of their own."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    repo = gitworld.Repository(tmp_path / "app")
    for number in range(20):
        repo.write(f"d{number % 4}/f{number}", f"{number}\n")
    repo.commit("many")
    return repo


def edited(repo: Repository, *, cwd: Path | None = None) -> None:
    """Changes of all kinds: staged, both, unstaged, deleted, new, and forgotten."""
    repo.write("d1/f1", "staged\n", cwd=cwd)
    repo.write("d1/f5", "staged\n", cwd=cwd)
    repo.write("d1/added", "x\n", cwd=cwd)
    repo.git("add", "d1", cwd=cwd)
    repo.write("d1/f5", "staged\nand more\n", cwd=cwd)
    repo.write("d1/f9", "not staged\n", cwd=cwd)
    ((cwd or repo.folder) / "a").unlink()
    repo.git("rm", "-q", "folder/b", cwd=cwd)
    repo.write("new.py", "x = 1\n", cwd=cwd)
    repo.write("promised", "x = 1\n", cwd=cwd)
    repo.git("add", "-N", "promised", cwd=cwd)


def seen_by_git(repo: Repository, *, cwd: Path | None = None) -> set[str]:
    """What `git status` lists."""
    words = ("status", "--porcelain", "-z", "-uall", "--no-renames")
    listed = repo.git(*words, cwd=cwd).split("\0")
    return {line[3:] for line in listed if line}


def seen_by_us(folder: Path, scope: Scope | None = None) -> set[str]:
    change = read_change(folder, scope)
    return {each.path for each in change.files}


def split(repo: Repository) -> None:
    repo.git("config", "splitIndex.maxPercentChange", "100")
    repo.git("update-index", "--split-index")


def split_of_version_4(repo: Repository) -> None:
    repo.git("update-index", "--index-version", "4")
    split(repo)


def sparse(repo: Repository) -> None:
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "d1", "folder")


def untracked_cache(repo: Repository) -> None:
    repo.git("config", "core.untrackedCache", "true")
    repo.git("update-index", "--force-untracked-cache")
    repo.git("status")


def no_checksum(repo: Repository) -> None:
    file = repo.folder / ".git/index"
    file.write_bytes(file.read_bytes()[:-20] + bytes(20))


@pytest.mark.parametrize(
    "prepare", [split, split_of_version_4, sparse, untracked_cache, no_checksum]
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_index_in_whatever_form(repo, prepare, when):
    """libgit2 reads neither a split nor a sparse one."""
    if when == "before":
        prepare(repo)
    edited(repo)
    if when == "after":
        prepare(repo)

    assert seen_by_us(repo.folder) == seen_by_git(repo)
    staged = read_change(repo.folder, Scope("staged"))
    same(by_us(staged), by_git(repo, "--staged"))


@pytest.mark.parametrize("kind", ["uncommitted", "staged"])
def test_no_index(repo, kind):
    """As after `git clone --no-checkout`: `git commit` would delete every file."""
    (repo.folder / ".git/index").unlink()
    repo.write("a", "two\n")

    assert seen_by_us(repo.folder, Scope(kind)) == set(repo.files())
    assert seen_by_git(repo) == set(repo.files())


def test_a_worktree_of_a_bare_repository(repo, tmp_path):
    """Beside it there may be a `.git` that names it, for the commands of git."""
    bare, tree = tmp_path / "bare.git", tmp_path / "tree"
    repo.git("clone", "-q", "--bare", str(repo.folder), str(bare))
    repo.git("worktree", "add", "-q", str(tree), cwd=bare)
    (tmp_path / "inside").mkdir()
    shutil.copytree(bare, tmp_path / "inside" / ".git")
    (tmp_path / ".git").write_text("gitdir: bare.git\n")
    edited(repo, cwd=tree)

    assert seen_by_us(tree) == seen_by_git(repo, cwd=tree)
    for place, named in ((bare, bare), (tmp_path, bare), (tmp_path / "inside",) * 2):
        (note,) = read_change(place).notes
        assert f"could not be read: {named} is a bare repository, without a" in note
        assert note.endswith(f"a worktree of it: git -C {named} worktree add FOLDER")


@pytest.mark.parametrize("has_commits", [True, False])
def test_a_git_folder_elsewhere(repo, tmp_path, has_commits):
    if not has_commits:
        repo = gitworld.Repository(tmp_path / "new", is_empty=True)
    repo.git("init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"))
    if has_commits:
        edited(repo)
    else:
        repo.write("a", "x\n")

    assert seen_by_us(repo.folder) == seen_by_git(repo) != set()


def test_pipes_and_sockets_are_no_files(repo):
    os.mkfifo(repo.folder / "pipe")
    os.mkfifo(repo.folder / "d1/pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(repo.folder / "socket"))

    assert seen_by_us(repo.folder) == seen_by_git(repo) == set()


@pytest.mark.parametrize("attributes", ["* text eol=crlf\n", "* text=auto\n"])
def test_a_fresh_clone_with_ends_of_lines_by_attributes(repo, tmp_path, attributes):
    """A checkout has made them: nothing differs."""
    repo.write(".gitattributes", attributes)
    repo.commit("attributes")
    config = ("-c", "core.autocrlf=true")
    repo.git(*config, "clone", "-q", str(repo.folder), str(tmp_path / "clone"))
    clone = gitworld.Repository(tmp_path / "clone", is_empty=True)
    clone.git("config", "core.autocrlf", "true")
    assert b"\r\n" in (clone.folder / "a").read_bytes()
    for file in (clone.folder / "a", clone.folder / "d1/f1"):
        # Written anew: the index no longer vouches for it.
        file.write_bytes(file.read_bytes())

    assert seen_by_us(clone.folder) == seen_by_git(clone) == set()
    (clone.folder / "a").write_bytes(b"one\r\n2\r\nthree\r\n")
    change = read_change(clone.folder)
    assert change.diff.endswith(" one\n-two\n+2\n three")
    same(by_us(change), by_git(clone, "HEAD"))


@pytest.mark.parametrize("attribute", ["text", "text eol=lf", "text=auto", "-text"])
def test_ends_of_lines_beside_a_zero_byte(repo, attribute):
    (repo.folder / "data").write_bytes(b"one\r\ntwo\0\r\n")
    repo.commit("data")
    repo.write(".gitattributes", f"data {attribute}\n")
    (repo.folder / "data").touch()

    assert seen_by_us(repo.folder) == seen_by_git(repo)


def test_the_users_own_settings_count(repo, tmp_path):
    home = tmp_path / "home"
    repo.write("debug.txt", "x\n")
    repo.write(".idea/x.xml", "x\n")
    repo.write("mine", "x\n")
    assert seen_by_us(repo.folder) == {"debug.txt", ".idea/x.xml", "mine"}

    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("debug.txt\n")
    assert seen_by_us(repo.folder) == seen_by_git(repo) == {".idea/x.xml", "mine"}

    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored\n")
    (home / "ignored").write_text(".idea/\n")
    assert seen_by_us(repo.folder) == {"debug.txt", "mine"}


@pytest.mark.parametrize("variable", ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"])
def test_the_users_settings_wherever_they_are(repo, tmp_path, monkeypatch, variable):
    (tmp_path / "config").write_text(f"[core]\n\texcludesFile = {tmp_path}/ignored\n")
    (tmp_path / "ignored").write_text("debug.txt\n")
    repo.write("debug.txt", "x\n")
    monkeypatch.setenv(variable, str(tmp_path / "config"))

    assert seen_by_us(repo.folder) == set()


def test_a_setting_of_the_repository_counts_as_for_git(repo):
    """`git add -A` would not take these files either."""
    repo.write(".ignored", "evil.py\n")
    repo.commit("ignored")
    repo.git("config", "core.excludesFile", str(repo.folder / ".ignored"))
    repo.write("evil.py", "x\n")

    assert seen_by_us(repo.folder) == seen_by_git(repo) == set()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_another_users_repository_is_read_if_the_user_says_so(repo, tmp_path):
    """As by git: `safe.directory`."""
    edited(repo)
    for place in (repo.folder, repo.folder / ".git"):
        os.chown(place, 12345, 12345)

    (note,) = read_change(repo.folder).notes

    assert note == (
        f"The change could not be read: {repo.folder}: repository path "
        f"'{repo.folder}' is not owned by current user. What to do: git config "
        f"--global --add safe.directory {repo.folder}"
    )
    (tmp_path / "home/.gitconfig").write_text(f"[safe]\ndirectory={repo.folder}\n")
    assert seen_by_us(repo.folder) >= {"a", "d1/f1", "new.py"}


def test_a_file_of_ignored_names_that_begins_with_a_mark(repo):
    """As editors of other systems write it."""
    (repo.folder / ".gitignore").write_bytes(b"\xef\xbb\xbfhidden\n")
    repo.git("add", ".gitignore")
    repo.write("hidden", "x\n")

    assert seen_by_us(repo.folder) == seen_by_git(repo) == {".gitignore"}


def test_what_git_was_told_not_to_look_at(repo):
    repo.git("update-index", "--assume-unchanged", "a")
    repo.git("update-index", "--skip-worktree", "d1/f1", "d1/f5")
    repo.write("a", "two\n")
    repo.write("d1/f1", "two\n")
    (repo.folder / "d1/f5").unlink()

    assert seen_by_us(repo.folder) == seen_by_git(repo) == set()
    # Of a sparse checkout, a file that is there counts, though it need not be there.
    repo.git("config", "core.sparseCheckout", "true")
    assert seen_by_us(repo.folder) == seen_by_git(repo) == {"d1/f1"}


_UNSEEN = (
    "Git was told not to look at these files, and in the project they are not what is "
    "committed (`git update-index --no-assume-unchanged --no-skip-worktree PATH`): "
)


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_git_does_not_look_at_is_named_if_it_is_another(repo, flag):
    """Commands would run with it, and it is not what is committed."""
    repo.git("update-index", flag, "a")
    repo.write("d1/f1", "two\n")
    assert read_change(repo.folder).is_in_files
    repo.write("a", "evil\n")

    change = read_change(repo.folder)

    assert seen_by_us(repo.folder) == seen_by_git(repo) == {"d1/f1"}
    assert (change.is_whole, change.is_in_files) == (True, False)
    assert change.notes == (f"{_UNSEEN}a",)
    assert "The files of the project are in another state" in change.title


def test_a_file_that_git_does_not_look_at_may_be_gone(repo):
    """One of `--skip-worktree` need not be there, as in a sparse checkout."""
    repo.git("update-index", "--skip-worktree", "a")
    repo.git("update-index", "--assume-unchanged", "d1/f1")
    (repo.folder / "a").unlink()
    (repo.folder / "d1/f1").unlink()

    assert read_change(repo.folder).notes == (f"{_UNSEEN}d1/f1",)


def test_a_file_that_only_a_monitor_takes_for_unchanged_is_shown(repo):
    """Without the monitor git shows it, too."""
    repo.git("config", "core.fsmonitor", "true")
    repo.git("update-index", "--fsmonitor", ok=False)
    repo.git("update-index", "--fsmonitor-valid", "a", ok=False)
    repo.git("config", "--unset", "core.fsmonitor")
    repo.write("a", "evil\n")

    assert seen_by_us(repo.folder) == {"a"}


def test_conflicts_and_submodules(repo, tmp_path):
    repo.add_submodule(tmp_path / "other")
    repo.write("a", "two\n", cwd=repo.folder / "sub")
    repo.commit("second", cwd=repo.folder / "sub")
    repo.git("checkout", "-qb", "topic", "HEAD~1")
    repo.write("d1/f1", "theirs\n")
    repo.commit("theirs")
    repo.git("checkout", "-q", "main")
    repo.write("d1/f1", "mine\n")
    repo.git("commit", "-qam", "mine")
    repo.git("merge", "topic", ok=False)

    assert seen_by_git(repo) == {"d1/f1"}
    assert seen_by_us(repo.folder, Scope("staged")) == {"d1/f1"}


def in_hook(repo: Repository, *words: str) -> str:
    """Commit with a hook that keeps git's variables; what they were."""
    hook = repo.folder / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\nenv | grep ^GIT_ > {repo.folder.parent}/env\n"
                    f"cp $GIT_INDEX_FILE $(dirname $GIT_INDEX_FILE)/next-index-7.lock\n"
                    "exit 1\n")  # fmt: skip
    hook.chmod(0o755)
    repo.git("commit", "-qm", "x", *words, ok=False)
    return (repo.folder.parent / "env").read_text()


def test_the_index_of_a_commit_that_goes_on(repo):
    """`git commit PATH` commits what stands in an index of its own."""
    repo.write("a", "staged\n")
    repo.git("add", "a")
    repo.write("d1/f1", "committed\n")
    assert "GIT_INDEX_FILE=" in in_hook(repo, "d1/f1")
    index = str(repo.folder / ".git/next-index-7.lock")

    change = read_change(repo.folder, Scope("staged", index=index))

    assert {each.path for each in change.files} == {"d1/f1"}
    assert seen_by_us(repo.folder, Scope("staged")) == {"a"}


def test_the_git_folder_that_the_user_has_named(repo, tmp_path, monkeypatch):
    """As for dotfiles in a home: `git --git-dir=X --work-tree=.`."""
    repo.git("clone", "-q", "--bare", str(repo.folder), str(tmp_path / "dot"))
    tree = tmp_path / "tree"
    variables = {"GIT_DIR": str(tmp_path / "dot"), "GIT_WORK_TREE": str(tree)}
    shutil.copytree(repo.folder, tree, symlinks=True)
    shutil.rmtree(tree / ".git")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    repo.git("read-tree", "HEAD", cwd=tree)
    edited(repo, cwd=tree)
    repo.write("debug.log", "ignored\n", cwd=tree)

    scope = of_caller(Scope(), tree, tree)

    assert seen_by_us(tree, scope) == seen_by_git(repo, cwd=tree)
    assert seen_by_us(tree, scope) >= {"d1/f1", "new.py", "promised"}


def test_a_hook_of_a_linked_worktree(repo, tmp_path, monkeypatch):
    """There git names its folder by `GIT_DIR`."""
    tree = tmp_path / "tree"
    repo.git("worktree", "add", "-q", str(tree))
    edited(repo, cwd=tree)
    monkeypatch.setenv("GIT_DIR", str(repo.folder / ".git/worktrees/tree"))

    scope = of_caller(Scope(), tree, tree)

    assert seen_by_us(tree, scope) == seen_by_git(repo, cwd=tree)


def test_a_git_folder_that_is_left_over_from_another_project(repo, tmp_path):
    """A hook there may have asked us about this one."""
    other = gitworld.Repository(tmp_path / "other")
    edited(repo)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_DIR", str(other.folder / ".git"))
        scope = of_caller(Scope(), repo.folder, repo.folder / "d1")

    assert scope.git_dir is None
    assert seen_by_us(repo.folder, scope) == seen_by_git(repo)
