"""What an agent left is committed: all of it, and nothing that is not for git."""

import os
import shutil

import forgedindex
import pytest
from gitworld import Repository
from mergeworld import IDENT

from bridge import worktrees
from bridge.worktrees import WorktreeGone, WorktreeRefused


def test_everything_that_differs_is_committed(repository, worktree):
    """New, changed and removed files, links and modes; ignored files stay out."""
    tree = worktree.folder
    repository.write("a", "changed\n", cwd=tree)
    repository.write("deep/er/new", "new\n", cwd=tree)
    repository.write("x.log", "ignored\n", cwd=tree)
    (tree / "folder/b").unlink()
    (tree / "link").unlink()
    (tree / "link").symlink_to("deep")
    repository.write("run", "#!/bin/sh\n", cwd=tree)
    (tree / "run").chmod(0o755)
    with open(os.fsencode(tree) + b"/\xff", "w") as odd:
        odd.write("odd")

    made = worktrees.commit(worktree, "All of it\n\nand why")

    assert made == repository.tip(worktree.branch)
    assert repository.status(cwd=tree) == []
    assert sorted(repository.files(worktree.branch)) == [
        '"\\377"', ".gitignore", "a", "deep/er/new", "link", "run",
    ]  # fmt: skip
    assert "100755" in repository.git("ls-tree", worktree.branch, "run")
    assert "120000" in repository.git("ls-tree", worktree.branch, "link")
    assert repository.git("log", "-1", "--format=%an %ae%n%B", worktree.branch) == (
        "A a@x.org\nAll of it\n\nand why\n"
    )
    assert (tree / "x.log").exists()
    assert not repository.git("fsck").strip()


def test_nothing_left_is_no_commit(repository, worktree):
    assert worktrees.commit(worktree, "nothing") is None
    assert repository.tip(worktree.branch) == worktree.start


def test_the_same_commit_again_is_the_one_that_was_made(repository, worktree):
    """A step that was killed after it hears of what it did."""
    repository.write("new", "x", cwd=worktree.folder)
    first = worktrees.commit(worktree, "step 3")

    assert worktrees.commit(worktree, "step 3") == first
    assert worktrees.commit(worktree, "step 4") is None


def test_what_the_agent_staged_or_committed_itself_is_kept(repository, worktree):
    repository.write("one", "x", cwd=worktree.folder)
    own = repository.commit("by the agent", cwd=worktree.folder)
    repository.write("two", "x", cwd=worktree.folder)
    repository.git("add", "two", cwd=worktree.folder)
    repository.write("three", "x", cwd=worktree.folder)

    made = worktrees.commit(worktree, "the rest")

    assert repository.git("log", "--format=%P", "-1", str(made)).strip() == own
    assert {"one", "two", "three"} <= set(repository.files(worktree.branch))


@pytest.mark.parametrize("way", ["to a folder", "to a file"])
def test_a_file_and_a_folder_change_places(repository, worktree, way):
    tree = worktree.folder
    if way == "to a folder":
        (tree / "a").unlink()
        repository.write("a/x", "x", cwd=tree)
    else:
        shutil.rmtree(tree / "folder")
        repository.write("folder", "x", cwd=tree)

    worktrees.commit(worktree, "change")

    assert repository.status(cwd=tree) == []
    wanted = "a/x" if way == "to a folder" else "folder"
    assert wanted in repository.files(worktree.branch)


def test_line_ends_are_those_that_git_would_commit(repository, worktree):
    repository.write(".gitattributes", "*.txt text\n", cwd=worktree.folder)
    (worktree.folder / "x.txt").write_bytes(b"one\r\ntwo\r\n")

    worktrees.commit(worktree, "text")

    assert repository.git("show", f"{worktree.branch}:x.txt") == "one\ntwo\n"
    assert repository.status(cwd=worktree.folder) == []


def test_what_a_sparse_checkout_leaves_out_stays(repository, worktree):
    """Files that lie there all the same count, as for git."""
    words = ("sparse-checkout", "set", "--no-cone", "/folder/")
    repository.git(*words, cwd=worktree.folder)
    repository.write("a", "one\ntwo\nthree\n", cwd=worktree.folder)
    assert worktrees.status(worktree).changed == ()
    repository.write("folder/b", "x", cwd=worktree.folder)
    repository.write("a", "x", cwd=worktree.folder)

    worktrees.commit(worktree, "work")

    assert repository.files(worktree.branch) == repository.files("main")
    changed = repository.git("diff", "--name-only", "main", worktree.branch)
    assert changed.split() == ["a", "folder/b"]
    assert repository.status(cwd=worktree.folder) == []


def test_without_a_name_hostbridge_is_the_author(repository, worktree):
    repository.git("config", "user.name", "")
    repository.write("new", "x", cwd=worktree.folder)

    made = worktrees.commit(worktree, "m")

    who = repository.git("log", "-1", "--format=%an <%ae>", str(made)).strip()
    assert who == "hostbridge <hostbridge@localhost>"


def test_error_the_folder_is_gone(worktree):
    """As when somebody removes it in the middle of a run."""
    shutil.rmtree(worktree.folder)

    assert refused(worktree, WorktreeGone) == (
        f"{worktree.folder}, the worktree of 'hostbridge/run1/dev', is gone; what was "
        "committed is in the branch. What to do: run the step that makes it again"
    )


@pytest.mark.parametrize("change", ["pruned", "a link", "another repository"])
def test_error_the_folder_is_something_else(repository, worktree, change, tmp_path):
    """A link to elsewhere is not followed, whoever put it there."""
    folder = worktree.folder
    if change == "pruned":
        shutil.rmtree(repository.folder / ".git/worktrees")
    else:
        shutil.move(folder, tmp_path / "moved")
        if change == "a link":
            folder.symlink_to(tmp_path / "moved")
        else:
            Repository(folder)

    with pytest.raises(WorktreeGone, match="is no longer a worktree of"):
        worktrees.commit(worktree, "m")


@pytest.mark.parametrize(
    ("words", "on"), [(("-c", "other"), "on 'other'"), (("--detach",), "on no branch")]
)
def test_error_the_agent_has_switched_the_branch(repository, worktree, words, on):
    repository.git("switch", "-q", *words, cwd=worktree.folder)

    told = f"is {on}, not on 'hostbridge/run1/dev'. What to do: git -C"
    assert told in refused(worktree)


def test_error_the_branch_is_gone(repository, worktree):
    """It failed without a reason; a merge had nothing to do, with all work lost."""
    repository.write("a", "changed\n", cwd=worktree.folder)
    worktrees.commit(worktree, "work")
    (repository.folder / ".git/refs/heads" / worktree.branch).unlink()

    gone = f"{repository.folder} has no branch 'hostbridge/run1/dev'. What to do: git "
    assert refused(worktree) == f"{gone}branch lists them"
    assert worktrees.status(worktree).differs
    with pytest.raises(WorktreeGone, match=r"its branch .* is gone"):
        worktrees.create(repository.folder, worktree.branch, worktree.folder)


def refused(worktree, kind=WorktreeRefused):
    """Why nothing is committed."""
    with pytest.raises(kind) as caught:
        worktrees.commit(worktree, "m")
    return str(caught.value)


def test_error_in_the_middle_of_a_merge(repository, worktree):
    """To commit would lose the second parent."""
    repository.write("a", "theirs\n")
    repository.commit("theirs")
    repository.write("a", "ours\n", cwd=worktree.folder)
    repository.commit("ours", cwd=worktree.folder)
    repository.git("merge", "main", cwd=worktree.folder, ok=False)

    assert "is in the middle of a merge" in refused(worktree)


def test_error_a_merge_that_is_not_resolved(repository, worktree):
    repository.write("a", "mine\n", cwd=worktree.folder)
    repository.git("stash", cwd=worktree.folder)
    repository.write("a", "other\n", cwd=worktree.folder)
    repository.commit("other", cwd=worktree.folder)
    repository.git("stash", "pop", cwd=worktree.folder, ok=False)

    assert "a merge of a is not resolved" in refused(worktree)


def test_error_a_repository_inside(worktree):
    """Its commits would be lost behind a pointer."""
    Repository(worktree.folder / "clone")

    assert "is a repository of its own" in refused(worktree)


@pytest.mark.parametrize(
    "line", ["*.key filter=git-crypt", "*.key working-tree-encoding=UTF-16"]
)
def test_error_a_filtered_file(repository, worktree, line):
    """Its plain text must not get into a commit."""
    repository.write(".gitattributes", f"{line}\n", cwd=worktree.folder)
    repository.write("x.key", "secret", cwd=worktree.folder)

    assert "runs no filter: it will not commit it" in refused(worktree)

    assert repository.tip(worktree.branch) == worktree.start


def test_error_a_lock_of_others_is_waited_for(repository, worktree, monkeypatch):
    monkeypatch.setattr("bridge.worktrees.git_locks.WAIT_S", 0.1)
    repository.write("new", "x", cwd=worktree.folder)
    [entry] = (repository.folder / ".git/worktrees").iterdir()
    lock = entry / "index.lock"
    lock.touch()

    assert refused(worktree, worktrees.RepositoryBusy) == (
        f"{lock} is there: git, or another program, is changing index; waited 0.1 s. "
        f"What to do: if none is running, remove it: rm {lock}"
    )
    assert lock.exists()
    lock.unlink()
    assert worktrees.commit(worktree, "m")


def test_a_pipe_is_no_file_to_commit(repository, worktree):
    """Git does not see them; nor is one opened."""
    os.mkfifo(worktree.folder / "pipe")
    repository.write("new", "x", cwd=worktree.folder)

    assert worktrees.commit(worktree, "m")
    assert "pipe" not in repository.files(worktree.branch)


def test_error_a_pipe_among_gits_own_files(repository, worktree, monkeypatch):
    """Nobody will ever write to it: the wait is limited."""
    monkeypatch.setattr("bridge.worktrees.repository.LIMIT_S", 0.5)
    os.mkfifo(worktree.folder / ".gitattributes")
    repository.write("new", "x", cwd=worktree.folder)

    assert "look for a pipe among them" in refused(worktree)


def test_a_commit_has_the_entries_of_a_forged_index(repository, worktree):
    """Not the trees that it names: git itself would take those."""
    repository.git("read-tree", "HEAD", cwd=worktree.folder)
    (index,) = (repository.folder / ".git/worktrees").glob("*/index")
    forgedindex.forge_tree(repository, index)
    repository.write("a", "changed\n", cwd=worktree.folder)

    worktrees.commit(worktree, "mine")

    assert repository.git("show", f"{worktree.branch}:folder/b") == "b\n"
    repository.git("commit", "-q", "--allow-empty", "-m", "git", cwd=worktree.folder)
    assert repository.git("show", f"{worktree.branch}:folder/b") == "b\n"


def with_ident(repository, worktree):
    repository.write(".gitattributes", "a ident\n", cwd=worktree.folder)
    repository.write("a", "# $Id$\n", cwd=worktree.folder)
    repository.commit("ident", cwd=worktree.folder)


def test_no_line_is_lost_between_two_signs_of_an_id(repository, worktree):
    """To libgit2 nothing has changed; git sees the lines."""
    with_ident(repository, worktree)
    long = "x" * (len(IDENT) - len("# $Id:$\n"))
    repository.write("a", f"# $Id:{long}$\n", cwd=worktree.folder)
    repository.git("add", "a", cwd=worktree.folder)
    repository.write("a", IDENT, cwd=worktree.folder)
    assert worktrees.status(worktree).changed == ("a",)

    assert worktrees.commit(worktree, "lines")

    assert repository.git("show", f"{worktree.branch}:a") == IDENT
    assert repository.status(cwd=worktree.folder) == []


def test_an_id_is_committed_as_git_does(repository, worktree):
    with_ident(repository, worktree)
    repository.write("a", "# $Id: x $\nnew\n", cwd=worktree.folder)

    assert worktrees.commit(worktree, "an id")

    assert repository.git("show", f"{worktree.branch}:a") == "# $Id$\nnew\n"
    assert repository.status(cwd=worktree.folder) == []


def test_a_worktree_has_all_lines_between_two_signs_of_an_id(repository, state):
    repository.write(".gitattributes", "a ident\n")
    repository.write("a", IDENT)
    repository.commit("ident")
    folder = worktrees.folder_of(state, "run1", "ident")

    made = worktrees.create(repository.folder, "hostbridge/run1/ident", folder)

    assert (made.folder / "a").read_text() == IDENT
    assert repository.status(cwd=made.folder) == []


def test_error_attributes_that_git_does_not_obey(repository, worktree):
    """Git follows no link there, libgit2 does."""
    repository.write("elsewhere", "a -text\n", cwd=worktree.folder)
    (worktree.folder / ".gitattributes").symlink_to("elsewhere")

    assert refused(worktree) == (
        f"{worktree.folder}: git may not obey .gitattributes, which is no plain file, "
        "and hostbridge cannot tell what that means for .gitattributes: it will not "
        "commit it. What to do: do this step with git"
    )
