"""A worktree is removed with its branch, never with work that is nowhere else."""

import os
import re
import shutil
from dataclasses import replace

import pytest
from gitworld import Repository

from bridge import worktrees
from bridge.worktrees import UnsavedWork, WorktreeRefused, removal
from bridge.worktrees.worktree import write


def test_nothing_is_left(repository, worktree, state):
    repository.write("x.log", "ignored", cwd=worktree.folder)

    worktrees.remove(worktree)
    worktrees.remove(worktree)

    assert not worktree.folder.exists()
    assert list((state / "worktrees").iterdir()) == []
    assert not repository.tip(worktree.branch)
    assert repository.git("worktree", "list").count("\n") == 1
    assert os.listdir(repository.folder / ".git/refs/heads") == ["main"]
    assert worktrees.find(worktree.folder) is None


def test_after_a_merge(repository, worktree):
    repository.write("new", "x", cwd=worktree.folder)
    made = worktrees.commit(worktree, "work")
    repository.git("pack-refs", "--all")
    worktrees.merge(repository.folder, worktree.branch, "main")

    worktrees.remove(worktree)

    assert repository.tip("main") == made
    assert not repository.tip(worktree.branch)
    assert "main" in repository.git("branch")
    assert not repository.git("fsck", "--no-dangling").strip()


def test_error_what_is_not_committed(repository, worktree):
    repository.write("new", "x", cwd=worktree.folder)
    repository.write("a", "x", cwd=worktree.folder)

    with pytest.raises(UnsavedWork) as caught:
        worktrees.remove(worktree)

    assert caught.value.files == ("a", "new")
    assert str(caught.value) == (
        f"{worktree.folder} holds a, new not committed. What to do: commit and merge "
        "it; or remove the worktree with `discard`, which drops that work"
    )
    assert worktrees.status(worktree).changed == ("a", "new")
    worktrees.remove(worktree, discard=True)
    assert not worktree.folder.exists()


def test_error_what_is_not_merged(repository, worktree):
    repository.write("new", "x", cwd=worktree.folder)
    worktrees.commit(worktree, "one")

    with pytest.raises(UnsavedWork, match="1 commits that are in no other branch"):
        worktrees.remove(worktree)

    shutil.rmtree(worktree.folder)
    with pytest.raises(UnsavedWork, match="1 commits that are in no other branch"):
        worktrees.remove(worktree)
    repository.git("branch", "kept", worktree.branch)
    worktrees.remove(worktree)
    assert repository.tip("kept")


def test_error_commits_on_no_branch(repository, worktree):
    """An agent that works on a detached HEAD has work that no branch has."""
    repository.git("switch", "-q", "--detach", cwd=worktree.folder)
    repository.write("new", "x", cwd=worktree.folder)
    repository.commit("loose", cwd=worktree.folder)

    with pytest.raises(UnsavedWork, match="in no other branch"):
        worktrees.remove(worktree)


def test_error_a_file_that_a_sparse_checkout_leaves_out(repository, worktree):
    words = ("sparse-checkout", "set", "--no-cone", "/folder/")
    repository.git(*words, cwd=worktree.folder)
    repository.write("a", "x", cwd=worktree.folder)

    with pytest.raises(UnsavedWork, match="holds a not committed"):
        worktrees.remove(worktree)


@pytest.mark.parametrize("begins", ["on its branch", "on its commit"])
def test_error_work_that_another_worktree_began_with(
    repository, worktree, state, begins
):
    """Each of them had it only as the other one did."""
    repository.write("new", "x", cwd=worktree.folder)
    made = worktrees.commit(worktree, "work")
    base = worktree.branch if begins == "on its branch" else made
    folder = worktrees.folder_of(state, "run2", "dev")
    next_one = worktrees.create(
        repository.folder, "hostbridge/run2/dev", folder, base=base
    )
    worktrees.remove(worktree)
    # One of the same name is not what it was.
    worktrees.create(repository.folder, worktree.branch, worktree.folder)

    with pytest.raises(UnsavedWork, match="in no other branch"):
        worktrees.remove(next_one)

    assert repository.tip(next_one.branch) == made
    repository.git("tag", "a-file", f"{made}:new")
    repository.git("tag", "kept", made)
    worktrees.remove(next_one)


def test_error_its_base_was_deleted(repository, state):
    repository.git("switch", "-qc", "base")
    repository.write("new", "x")
    made = repository.commit("work")
    folder = worktrees.folder_of(state, "run2", "dev")
    tree = worktrees.create(repository.folder, "hostbridge/run2/dev", folder)
    repository.git("switch", "-q", "main")
    repository.git("branch", "-D", "base")

    with pytest.raises(UnsavedWork, match="began from"):
        worktrees.remove(tree)

    repository.git("switch", "-q", "--detach", made)
    worktrees.remove(tree)


def test_the_base_was_moved_by_its_owner(repository, worktree):
    repository.git("commit", "-q", "--amend", "-m", "again")

    worktrees.remove(worktree)

    assert not repository.tip(worktree.branch)


def committed_in(repository, folder, branch):
    """Make a repository in a worktree, and commit and merge the link to it."""
    Repository(folder / "inner")
    repository.git("add", "inner", cwd=folder)
    repository.git("commit", "-qm", "inner", cwd=folder)
    repository.git("merge", "-q", branch)


def submodule_without_files(repository, folder, branch):
    repository.add_submodule(folder.parent.parent / "other", cwd=folder)
    repository.git("merge", "-q", branch)
    repository.git("submodule", "deinit", "-q", "--all", cwd=folder)


def forgotten_by_git(repository, folder, _branch):
    """Its disk was not there for a while."""
    folder.rename(folder.with_name("away"))
    repository.git("worktree", "prune")
    folder.with_name("away").rename(folder)


def committed_in_the_making(repository, folder, _branch):
    """Its making was killed; git shows it all the same."""
    write(worktrees.find(folder).at("making"))
    repository.write("new", "x", cwd=folder)
    repository.commit("work", cwd=folder)


def written_after_a_kill(repository, folder, _branch):
    """A removal was killed, and somebody has gone on there."""
    write(worktrees.find(folder).at("removing"))
    repository.write("new", "x", cwd=folder)


def committed_after_a_kill(repository, folder, branch):
    written_after_a_kill(repository, folder, branch)
    repository.commit("one", cwd=folder)


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (committed_in, "inner, with commits that may be nowhere else"),
        (submodule_without_files, "sub, with commits that may be nowhere else"),
        (forgotten_by_git, "files, and is no longer a worktree of"),
        (committed_in_the_making, "1 commits that are in no other branch"),
        (written_after_a_kill, "new not committed"),
        (committed_after_a_kill, "1 commits that are in no other branch"),
    ],
    ids=lambda of: getattr(of, "__name__", ""),
)
def test_error_work_that_a_look_at_its_files_and_branch_misses(
    repository, worktree, work, words
):
    work(repository, worktree.folder, worktree.branch)

    with pytest.raises(UnsavedWork, match=f"holds {words}"):
        worktrees.remove(worktree)
    if "kill" in work.__name__:
        with pytest.raises(UnsavedWork, match=f"holds {words}"):
            worktrees.create(worktree.project, worktree.branch, worktree.folder)

    assert worktree.folder.exists()
    worktrees.remove(worktree, discard=True)
    assert not worktree.folder.exists()


def test_a_removal_that_was_killed_among_gits_files_goes_on(
    repository, worktree, monkeypatch
):
    whole = removal.remove_tree

    def killed(folder):
        if not (folder / "gitdir").exists():
            return whole(folder)
        (folder / "gitdir").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(removal, "remove_tree", killed)
    with pytest.raises(KeyboardInterrupt):
        worktrees.remove(worktree)
    monkeypatch.undo()

    worktrees.remove(worktree)

    assert not repository.tip(worktree.branch)
    assert not list((repository.folder / ".git").glob("worktrees/*"))


def test_error_a_record_of_a_killed_removal_that_names_a_branch_of_the_user(
    repository, worktree
):
    write(replace(worktree, branch="main", stage="removing"))

    with pytest.raises(WorktreeRefused, match="for the branch 'main' already"):
        worktrees.create(worktree.project, worktree.branch, worktree.folder)

    assert repository.tip("main")


def test_a_removal_that_was_killed_goes_on_and_drops_what_git_ignores(worktree):
    Repository(worktree.folder / "inner\udce9.log")
    write(worktree.at("removing"))
    (worktree.folder / "a").unlink()

    worktrees.remove(worktree)

    assert not worktree.folder.exists()


def test_error_a_folder_that_is_not_ours(worktree, state):
    """Without its record, nobody knows whose it is."""
    (state / "worktrees/run1/dev.json").unlink()

    with pytest.raises(
        WorktreeRefused, match="is not a worktree of hostbridge: it has no"
    ):
        worktrees.remove(worktree, discard=True)

    assert (worktree.folder / "a").exists()


def test_a_link_in_its_place_is_not_followed(worktree, tmp_path):
    mine = tmp_path / "mine"
    shutil.move(worktree.folder, mine)
    worktree.folder.symlink_to(mine)

    with pytest.raises(UnsavedWork, match="is no longer a worktree"):
        worktrees.remove(worktree)
    worktrees.remove(worktree, discard=True)

    assert (mine / "a").exists()
    assert not os.path.lexists(worktree.folder)


def test_links_in_it_are_not_followed(worktree, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "kept").touch()
    (worktree.folder / "x.log").symlink_to(mine)

    worktrees.remove(worktree)

    assert (mine / "kept").exists()


def test_a_worktree_of_the_persons_own_is_left(repository, worktree, tmp_path):
    repository.git("worktree", "add", "-q", "-b", "mine", str(tmp_path / "mine"))

    worktrees.remove(worktree)

    assert repository.status(cwd=tmp_path / "mine") == []


def test_the_same_names_may_be_used_again(repository, worktree):
    worktrees.remove(worktree)

    again = worktrees.create(repository.folder, worktree.branch, worktree.folder)

    assert again == worktree


def test_status(repository, worktree):
    repository.write("a", "x", cwd=worktree.folder)

    status = worktrees.status(worktree)
    assert (status.exists, status.branch) == (True, worktree.branch)
    assert (status.changed, status.ahead) == (("a",), 0)
    assert (status.is_merged, status.differs) == (True, False)

    worktrees.commit(worktree, "one")
    shutil.rmtree(worktree.folder)

    status = worktrees.status(worktree)
    assert (status.exists, status.branch) == (False, None)
    assert (status.changed, status.ahead) == ((), 1)
    assert (status.is_merged, status.differs) == (False, True)


@pytest.mark.parametrize(
    ("commands", "why"),
    [
        ("worktree lock {folder}", "is locked"),
        ("switch -q --ignore-other-worktrees {branch}", "is checked out in {project}"),
        (
            "-C {folder} switch -q --detach; worktree add -q {other} {branch}",
            "is checked out in {other}",
        ),
    ],
)
def test_error_in_use(repository, worktree, tmp_path, commands, why):
    names = {
        "folder": worktree.folder,
        "branch": worktree.branch,
        "project": repository.folder,
        "other": tmp_path / "other",
    }
    for command in commands.format(**names).split("; "):
        repository.git(*command.split())

    for refusing in (removal.refuse_unsaved, worktrees.remove):
        with pytest.raises(WorktreeRefused, match=re.escape(why.format(**names))):
            refusing(worktree)

    assert (worktree.folder / "a").exists()
    assert repository.tip(worktree.branch)


def test_error_another_name_of_its_branch_is_no_other_branch(repository, worktree):
    repository.write("new", "x", cwd=worktree.folder)
    worktrees.commit(worktree, "one")
    for name, to in (("alias", worktree.branch), ("gone", "nowhere")):
        repository.git("symbolic-ref", f"refs/heads/{name}", f"refs/heads/{to}")

    with pytest.raises(UnsavedWork):
        worktrees.remove(worktree)
