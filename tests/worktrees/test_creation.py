"""Worktrees are made once, outside the project, and are git's own kind."""

import os
import shutil
from pathlib import Path

import pytest
from gitworld import Repository

from bridge import worktrees
from bridge.config import Settings
from bridge.store.location import locate
from bridge.worktrees import NoRepository, WorktreeGone, WorktreeRefused

BRANCH = "hostbridge/run1/dev"


def test_git_sees_an_ordinary_worktree(repository, worktree):
    """Whoever works in it uses git as ever."""
    listed = repository.git("worktree", "list", "--porcelain")

    assert f"worktree {worktree.folder}\n" in listed
    assert f"branch refs/heads/{BRANCH}" in listed
    assert repository.status(cwd=worktree.folder) == []
    assert repository.status() == []
    assert (worktree.folder / "link").is_symlink()
    assert (worktree.folder / "folder/b").read_text() == "b\n"
    assert worktree.start == repository.tip("main")
    assert worktree.base == "main"
    assert not repository.git("fsck").strip()


def test_the_same_call_again_gives_the_same_worktree(repository, worktree):
    """A step that was done is done again after a kill; work in it stays."""
    repository.write("a", "mine\n", cwd=worktree.folder)
    repository.write("new", "mine\n", cwd=worktree.folder)

    again = worktrees.create(repository.folder, BRANCH, worktree.folder)

    assert again == worktree == worktrees.find(worktree.folder)
    assert repository.status(cwd=worktree.folder) == [" M a", "?? new"]


def test_the_state_of_the_project_serves_it(repository, worktree, tmp_path):
    """Hooks and agents there ask, and are answered, as in the project."""
    settings = Settings(home=tmp_path / "home", home_is_default=False)

    there = locate(settings, worktree.folder / "folder")

    assert there.state == locate(settings, repository.folder).state
    assert there.project == worktree.folder
    assert there.owner == repository.folder


@pytest.mark.parametrize("base", ["main", "HEAD", "refs/heads/main", "v1", "HEAD~0"])
def test_the_base_is_a_branch_a_tag_or_a_commit(repository, state, base):
    repository.git("tag", "v1")

    made = worktrees.create(repository.folder, "b/c", state / "w" / "x", base=base)

    assert made.start == repository.tip("main")
    assert made.base == ("main" if "main" in base or base == "HEAD" else "")


def test_a_folder_that_has_gone_is_made_again_from_its_branch(repository, worktree):
    """What was committed is in the branch."""
    repository.write("a", "kept\n", cwd=worktree.folder)
    worktrees.commit(worktree, "work")
    shutil.rmtree(worktree.folder)

    again = worktrees.create(repository.folder, BRANCH, worktree.folder)

    assert again == worktree
    assert (worktree.folder / "a").read_text() == "kept\n"
    assert repository.status(cwd=worktree.folder) == []


@pytest.mark.parametrize("lost", ["entry", "file"])
def test_what_git_keeps_of_it_is_made_around_its_files(repository, worktree, lost):
    """`git worktree prune`, say; the files may hold work that nobody has committed."""
    repository.write("a", "mine\n", cwd=worktree.folder)
    (worktree.folder / "folder/b").unlink()
    if lost == "entry":
        shutil.rmtree(repository.folder / ".git/worktrees")
    else:
        (worktree.folder / ".git").unlink()

    again = worktrees.create(repository.folder, BRANCH, worktree.folder)

    assert again == worktree
    assert repository.status(cwd=worktree.folder) == [" M a", " D folder/b"]
    assert repository.git("branch", "--show-current", cwd=worktree.folder) == (
        f"{BRANCH}\n"
    )


def test_cleaning_the_project_leaves_it_alone(repository, worktree):
    repository.git("clean", "-ffdxq")

    assert repository.status(cwd=worktree.folder) == []
    assert worktrees.status(worktree).exists


def test_two_runs_may_have_the_same_names(repository, tmp_path):
    """Names of entries are cut and replaced; each folder gets its own."""
    made = [
        worktrees.create(repository.folder, f"b{number}", tmp_path / name / "x")
        for number, name in enumerate(["s/a b", "t/a b", "s/a-b"])
    ]

    assert [repository.status(cwd=one.folder) for one in made] == [[], [], []]
    entries = os.listdir(repository.folder / ".git/worktrees")
    assert sorted(entries) == [f"hostbridge-a-b-x{n}" for n in ("", "-2", "-3")]


@pytest.mark.parametrize(
    ("branch", "why"),
    [
        ("main", "a branch 'main' exists already"),
        ("main/x", "a branch 'main' exists already"),
        ("x", "a branch 'x/y' exists already"),
        ("packed", "a branch 'packed/y' exists already"),
        ("-x", "'-x' cannot be the name of a branch"),
        ("a..b", "'a..b' cannot be the name of a branch"),
        ("a/../b", "'a/../b' cannot be the name of a branch"),
        ("", "'' cannot be the name of a branch"),
        ("a\nb", "cannot be the name of a branch"),
        ("x.lock", "'x.lock' cannot be the name of a branch"),
    ],
)
def test_error_names_of_branches(repository, state, branch, why):
    repository.git("branch", "packed/y")
    repository.git("pack-refs", "--all")
    repository.git("branch", "x/y")

    with pytest.raises(WorktreeRefused) as caught:
        worktrees.create(repository.folder, branch, state / "w" / "x")

    assert why in str(caught.value)
    assert not (state / "w").exists()


def test_error_a_folder_that_is_there(repository, state):
    (state / "w" / "x").mkdir(parents=True)

    with pytest.raises(WorktreeRefused, match="there already, and is not a worktree"):
        worktrees.create(repository.folder, "b", state / "w" / "x")

    assert not repository.tip("b")


def another_repository(repository: Repository, folder: Path) -> None:
    (folder / ".git").unlink()
    repository.git("init", "-q", cwd=folder)


def branch_deleted(repository: Repository, folder: Path) -> None:
    shutil.rmtree(folder)
    repository.git("worktree", "prune")
    repository.git("branch", "-D", BRANCH)


GONE = {
    another_repository: "is no longer the worktree of",
    branch_deleted: "its branch 'hostbridge/run1/dev' is gone",
}


@pytest.mark.parametrize(("change", "why"), GONE.items())
def test_error_what_is_no_longer_there(repository, worktree, change, why):
    change(repository, worktree.folder)

    with pytest.raises(WorktreeGone, match=why):
        worktrees.create(repository.folder, BRANCH, worktree.folder)


def test_error_a_folder_for_something_else(repository, worktree):
    inside = repository.folder / "w"
    with pytest.raises(WorktreeRefused, match="where `git clean` removes it"):
        worktrees.create(repository.folder, "b", inside)
    with pytest.raises(WorktreeRefused, match="for the branch 'hostbridge/run1/dev'"):
        worktrees.create(repository.folder, "other", worktree.folder)


@pytest.mark.parametrize("base", ["nowhere", "-x", "HEAD~9", "main:a", ":/x", "\0"])
def test_error_the_base_is_unknown(repository, state, base):
    with pytest.raises(WorktreeRefused, match="is no branch, tag or commit"):
        worktrees.create(repository.folder, "b", state / "w" / "x", base=base)


def bare(repository: Repository) -> None:
    git = repository.folder / ".git"
    for path in list(repository.folder.iterdir()):
        if path != git and not path.is_symlink() and path.is_dir():
            shutil.rmtree(path)
        elif path != git:
            path.unlink()
    for path in list(git.iterdir()):
        path.rename(repository.folder / path.name)
    git.rmdir()


def borrows(repository: Repository) -> None:
    file = repository.folder / ".git/objects/info/alternates"
    file.write_text("/somewhere/objects\n")


def separate(repository: Repository) -> None:
    git = repository.folder / ".git"
    elsewhere = repository.folder.parent / "elsewhere.git"
    git.rename(elsewhere)
    git.write_text(f"gitdir: {elsewhere}\n")


def linked_worktrees(repository: Repository) -> None:
    (repository.folder / ".git/worktrees").symlink_to("/tmp")


def configured(*settings):
    """A repository with these settings."""

    def change(repository):
        for name, value in settings:
            repository.git("config", name, value)

    return change


def begun_anew(*words):
    """Without its history; with words, as after `git init`."""

    def change(repository):
        shutil.rmtree(repository.folder / ".git")
        if words:
            repository.git("init", *words)

    return change


SURPRISE = ("core.repositoryformatversion", "1"), ("extensions.surprise", "yes")
OTHERS = [
    (begun_anew(), "the project is no git repository. What to do: git init, and a"),
    (begun_anew("-q"), "has no commit yet. What to do: git add and git commit first"),
    (bare, "is a bare repository, without a work tree. What to do: work in a worktree"),
    (configured(("core.bare", "true")), "is a bare repository"),
    (
        configured(("core.worktree", "/tmp")),
        "is configured to work in /tmp/. What to do: git -C",
    ),
    (
        begun_anew("-q", "--object-format=sha256"),
        "app: unknown object format 'sha256'. What to do: work in a clone",
    ),
    (borrows, "borrows from another repository, which is not read"),
    (configured(*SURPRISE), "work in a clone without it"),
    (separate, "or of a repository elsewhere, cannot have worktrees of hostbridge"),
    (linked_worktrees, "leads to /tmp"),
]


@pytest.mark.parametrize(("change", "why"), OTHERS, ids=[why for _, why in OTHERS])
def test_error_repositories_without_worktrees_of_ours(repository, state, change, why):
    """Each is named, with the way out; nothing is made."""
    change(repository)

    with pytest.raises(NoRepository) as caught:
        worktrees.create(repository.folder, "b", state / "w" / "x")

    assert why in str(caught.value)
    assert not (state / "w").exists()


def test_a_detached_head_is_a_base_like_any_other(repository, state):
    repository.git("switch", "-q", "--detach")

    made = worktrees.create(repository.folder, "b", state / "w" / "x")

    assert made.base == ""
    with pytest.raises(WorktreeRefused, match="is on no branch"):
        worktrees.current_branch(repository.folder)


def test_a_linked_worktree_is_a_project_too(repository, tmp_path, state):
    """A person who works in one has runs there."""
    mine = tmp_path / "mine"
    repository.git("worktree", "add", "-q", "-b", "mine", str(mine))

    made = worktrees.create(mine, "b", state / "w" / "x")

    assert made.base == worktrees.current_branch(mine) == "mine"
    assert repository.status(cwd=made.folder) == []


def test_line_ends_and_modes_are_those_that_git_would_write(repository, state):
    repository.write(".gitattributes", "*.txt eol=crlf\n")
    repository.write("x.txt", "one\r\ntwo\r\n")
    repository.write("run", "#!/bin/sh\n")
    (repository.folder / "run").chmod(0o755)
    repository.commit("more")

    made = worktrees.create(repository.folder, "b", state / "w" / "x")

    assert (made.folder / "x.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert os.access(made.folder / "run", os.X_OK)
    assert repository.status(cwd=made.folder) == []


def test_a_sparse_checkout_is_made_whole(repository, state):
    repository.git("sparse-checkout", "set", "nothing")

    made = worktrees.create(repository.folder, "b", state / "w" / "x")

    assert (made.folder / "folder/b").exists()


def test_a_submodule_is_an_empty_folder(repository, state, tmp_path):
    repository.add_submodule(tmp_path / "other")

    made = worktrees.create(repository.folder, "b", state / "w" / "x")

    assert list((made.folder / "sub").iterdir()) == []
    assert worktrees.status(made).changed == ()
