"""Merges: into a branch, and into the work tree where it is checked out."""

import os
import shutil

import pytest
from mergeworld import BRANCH, IDENT, done, merge

from bridge import worktrees
from bridge.worktrees import Conflict, DirtyFiles, Merged
from bridge.worktrees.merging import MAX_CHARS


def everything(folder):
    """All that lies in a project, but for what git makes on its way."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and "hostbridge" not in path.parts
        and "objects" not in path.parts
    }


def test_fast_forward(repository, worktree):
    made = done(repository, worktree, new="new\n", a="one\nTWO\nthree\n")
    (worktree.folder / "folder/b").unlink()
    made = worktrees.commit(worktree, "more")

    assert merge(repository) == Merged(made, "fast-forward")
    assert repository.tip("main") == made
    assert repository.status() == []
    assert (repository.folder / "a").read_text() == "one\nTWO\nthree\n"
    assert not (repository.folder / "folder").exists()
    assert merge(repository) == Merged(made, "already")


def test_both_sides_changed(repository, worktree):
    """Texts are merged by lines, as git does it; one commit has both parents."""
    made = done(repository, worktree, a="one\ntwo\nTHREE\n")
    repository.write("a", "ONE\ntwo\nthree\n")
    ours = repository.commit("ours")

    merged = merge(repository)

    assert isinstance(merged, Merged)
    assert merged.how == "merged"
    assert repository.git("log", "-1", "--format=%P%n%s", "main").splitlines() == [
        f"{ours} {made}",
        f"Merge branch '{BRANCH}' into main",
    ]
    assert (repository.folder / "a").read_text() == "ONE\ntwo\nTHREE\n"
    assert repository.status() == []
    assert not repository.git("fsck", "--no-dangling").strip()


def test_no_line_is_lost_between_two_signs_of_an_id(repository, worktree):
    """Neither those that are merged, nor those that are not committed."""
    repository.write(".gitattributes", "a ident\n")
    repository.write("a", "# $Id$\n")
    repository.commit("ident")
    repository.git("merge", "-q", "main", cwd=worktree.folder)
    done(repository, worktree, a=IDENT)

    repository.write("a", IDENT.replace("os", "mine"))
    with pytest.raises(DirtyFiles):
        merge(repository)
    repository.git("checkout", "-q", "a")
    assert isinstance(merge(repository), Merged)

    assert (repository.folder / "a").read_text() == IDENT
    assert repository.status() == []


def test_work_that_the_merge_does_not_touch_stays(repository, worktree):
    """Changed, staged, new and ignored files of the person's own."""
    done(repository, worktree, a="changed\n", new="n\n")
    repository.write("folder/b", "mine\n")
    repository.write("staged", "mine\n")
    repository.git("add", "staged")
    repository.write("loose", "mine\n")
    repository.write("x.log", "mine\n")

    assert isinstance(merge(repository), Merged)
    assert sorted(repository.status()) == [" M folder/b", "?? loose", "A  staged"]
    assert (repository.folder / "x.log").read_text() == "mine\n"


def stage(repository):
    repository.write("a", "mine\n")
    repository.git("add", "a")


def stage_only(repository):
    stage(repository)
    repository.write("a", "one\ntwo\nthree\n")


def link_elsewhere(repository):
    (repository.folder / "link").unlink()
    (repository.folder / "link").symlink_to("folder")


def mine(path):
    return lambda repository: repository.write(path, "mine\n")


SPOILT = {
    "changed": (mine("a"), "a"),
    "staged": (stage, "a"),
    "staged only": (stage_only, "a"),
    "untracked": (mine("new"), "new"),
    "untracked folder": (mine("new/mine"), "new/mine"),
    "ignored": (mine("x.log"), "x.log"),
    "a file for a folder": (mine("deep"), "deep"),
    "a link for a folder": (lambda r: (r.folder / "deep").symlink_to("/tmp"), "deep"),
    "a link": (lambda r: (r.folder / "new").symlink_to("a"), "new"),
    "a pipe": (lambda r: os.mkfifo(r.folder / "new"), "new"),
    "mode": (lambda r: (r.folder / "a").chmod(0o755), "a"),
    "another link": (link_elsewhere, "link"),
    "removed by the merge": (mine("folder/b"), "folder/b"),
}


@pytest.mark.parametrize(("spoil", "named"), SPOILT.values(), ids=SPOILT)
def test_error_what_is_not_committed_is_kept(repository, worktree, spoil, named):
    """It is refused by name; nothing has changed, and it works once that is gone."""
    (worktree.folder / "link").unlink()
    (worktree.folder / "link").symlink_to("new")
    (worktree.folder / "folder/b").unlink()
    repository.write("x.log", "theirs\n", cwd=worktree.folder)
    repository.git("add", "-f", "x.log", cwd=worktree.folder)
    done(repository, worktree, a="theirs\n", new="n\n", **{"deep/er": "x"})
    spoil(repository)
    before, status = everything(repository.folder), repository.status()

    with pytest.raises(DirtyFiles) as caught:
        merge(repository)

    assert caught.value.files == (named,)
    assert str(caught.value) == (
        f"{repository.folder}: merging into 'main' would overwrite what is not "
        f"committed: {named}. What to do: commit them, or move them away, and merge "
        "again"
    )
    assert everything(repository.folder) == before
    assert repository.status() == status
    repository.git("reset", "-q", "--hard")
    repository.git("clean", "-ffdxq")
    # Git does not see pipes.
    (repository.folder / "new").unlink(missing_ok=True)
    assert isinstance(merge(repository), Merged)
    assert repository.status() == []


@pytest.mark.parametrize(
    ("theirs", "ours", "file"),
    [
        ({"a": "theirs\n"}, {"a": "ours\n"}, "a"),
        ({"a": None}, {"a": "ours\n"}, "a"),
        ({"new": "theirs\n"}, {"new": "ours\n"}, "new"),
        ({"new": "\0theirs"}, {"new": "\0ours"}, "new"),
    ],
    ids=["text", "removed", "added", "binary"],
)
def test_a_conflict_changes_nothing(repository, worktree, theirs, ours, file):
    """The branch and its worktree are kept, for a person or an agent to resolve."""
    made = done(repository, worktree, **theirs)
    for name, text in ours.items():
        repository.write(name, text)
    repository.commit("ours")
    before = everything(repository.folder)

    found = merge(repository)

    assert found == Conflict(BRANCH, "main", (file,))
    # Who takes it out need not have both folders.
    shown = repository.git("diff", f"main~1...{BRANCH}").splitlines()
    assert {line for line in shown if line[:1] in "+-"} <= {*found.change.splitlines()}
    assert str(found) == (
        f"'{BRANCH}' does not merge into 'main': both change {file}. Nothing was "
        "merged, and the branch is kept. What to do: in its worktree, git merge main, "
        "resolve, commit, and merge again"
    )
    assert everything(repository.folder) == before
    assert repository.tip(BRANCH) == made
    assert worktrees.status(worktree).exists


def test_a_long_change_names_what_it_leaves_out(repository, worktree):
    done(repository, worktree, a="theirs\n", b="x\n" * MAX_CHARS, c="short\n")
    repository.write("a", "ours\n")
    repository.commit("ours")

    found = merge(repository)

    assert isinstance(found, Conflict)
    assert len(found.change) < MAX_CHARS
    assert {"+theirs", "+short", "Left out, too long: b"} <= {
        *found.change.splitlines()
    }


def test_a_conflict_is_resolved_in_the_worktree(repository, worktree):
    """As its message says."""
    done(repository, worktree, a="theirs\n")
    repository.write("a", "ours\n")
    repository.commit("ours")
    repository.git("merge", "main", cwd=worktree.folder, ok=False)
    repository.write("a", "both\n", cwd=worktree.folder)
    repository.commit("resolved", cwd=worktree.folder)

    assert isinstance(merge(repository), Merged)
    assert (repository.folder / "a").read_text() == "both\n"


def test_a_branch_that_is_not_checked_out_moves_alone(repository, worktree):
    """As when the person has switched the branch during the run."""
    made = done(repository, worktree, a="theirs\n")
    repository.git("switch", "-qc", "mine")
    repository.write("a", "mine\n")

    assert merge(repository) == Merged(str(made), "fast-forward")
    assert repository.tip("main") == made
    assert repository.status() == [" M a"]


@pytest.mark.parametrize("attribute", ["merge=ours", "filter=git-crypt"])
def test_a_file_with_a_merge_driver_is_a_conflict(repository, worktree, attribute):
    """No program is run, and nothing is merged in another way than the project's."""
    done(repository, worktree, a="one\ntwo\nTHREE\n")
    repository.write("a", "ONE\ntwo\nthree\n")
    repository.write(".gitattributes", f"a {attribute}\n")
    repository.commit("ours")

    assert merge(repository) == Conflict(BRANCH, "main", ("a",))


def test_a_file_and_a_folder_change_places(repository, worktree):
    tree = worktree.folder
    (tree / "a").unlink()
    repository.write("a/x", "x", cwd=tree)
    shutil.rmtree(tree / "folder")
    repository.write("folder", "now a file", cwd=tree)
    made = worktrees.commit(worktree, "change")

    assert merge(repository) == Merged(str(made), "fast-forward")
    assert repository.status() == []
    assert (repository.folder / "a/x").read_text() == "x"
    assert (repository.folder / "folder").read_text() == "now a file"


def test_a_file_and_a_link_change_places(repository, worktree):
    (worktree.folder / "a").unlink()
    (worktree.folder / "a").symlink_to("folder/b")
    (worktree.folder / "link").unlink()
    done(repository, worktree, link="x")

    merge(repository)

    assert (repository.folder / "a").is_symlink()
    assert (repository.folder / "link").read_text() == "x"
    assert repository.status() == []


def test_error_a_submodule_with_files_becomes_a_file(repository, state, tmp_path):
    repository.add_submodule(tmp_path / "other")
    folder = worktrees.folder_of(state, "run1", "dev")
    worktrees.create(repository.folder, BRANCH, folder)
    repository.git("rm", "-q", "sub", cwd=folder)
    repository.write("sub", "x", cwd=folder)
    repository.commit("file", cwd=folder)
    repository.write("sub/mine", "x")

    with pytest.raises(DirtyFiles) as caught:
        merge(repository)

    assert "sub/mine" in caught.value.files
    repository.git("submodule", "deinit", "-f", "sub")
    merge(repository)
    assert (repository.folder / "sub").read_text() == "x"


def test_a_link_in_the_tree_is_not_followed(repository, worktree, tmp_path):
    """A folder that the person has replaced by a link leads elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done(repository, worktree, **{"folder/new": "x"})
    repository.git("rm", "-q", "--cached", "folder/b")
    shutil.rmtree(repository.folder / "folder")
    (repository.folder / "folder").symlink_to(elsewhere)

    with pytest.raises(DirtyFiles):
        merge(repository)

    assert list(elsewhere.iterdir()) == []


def test_modes_line_ends_and_odd_names(repository, worktree):
    tree = worktree.folder
    repository.write(".gitattributes", "*.txt eol=crlf\n", cwd=tree)
    repository.write("x.txt", "one\r\n", cwd=tree)
    repository.write("run", "#!/bin/sh\n", cwd=tree)
    (tree / "run").chmod(0o755)
    (tree / "a").chmod(0o755)
    repository.write("[a]*", "glob", cwd=tree)
    with open(os.fsencode(tree) + b"/\xff", "w") as odd:
        odd.write("odd")
    worktrees.commit(worktree, "odd")

    merge(repository)

    assert repository.status() == []
    assert os.access(repository.folder / "run", os.X_OK)
    assert os.access(repository.folder / "a", os.X_OK)
    assert (repository.folder / "x.txt").read_bytes() == b"one\r\n"


def test_a_submodule_is_merged_as_a_pointer(repository, worktree, tmp_path):
    """Its own files are its own affair, as with git."""
    made = repository.add_submodule(tmp_path / "other", cwd=worktree.folder)

    assert merge(repository) == Merged(made, "fast-forward")
    assert (repository.folder / "sub").is_dir()
    assert repository.status() == []


def test_a_branch_that_git_has_packed(repository, worktree):
    done(repository, worktree, new="x")
    repository.git("pack-refs", "--all")
    repository.git("gc", "-q")

    assert isinstance(merge(repository), Merged)
    assert repository.status() == []


def test_the_logs_say_what_was_done(repository, worktree):
    """`git reflog` is the way back."""
    done(repository, worktree, new="x")
    merge(repository)

    assert f"merge {BRANCH}: Fast-forward" in repository.git("reflog", "main")
    assert f"merge {BRANCH}: Fast-forward" in repository.git("reflog", "HEAD")
    assert repository.tip("HEAD@{1}") == worktree.start


def test_error_a_lock_of_others(repository, worktree, monkeypatch):
    """Somebody's git is at work, or was killed: nothing is done, nothing removed."""
    monkeypatch.setattr("bridge.worktrees.git_locks.WAIT_S", 0.1)
    done(repository, worktree, new="x")
    lock = repository.folder / ".git/index.lock"
    lock.touch()

    with pytest.raises(worktrees.RepositoryBusy, match=r"index\.lock is there"):
        merge(repository)

    assert lock.exists()
    assert not (repository.folder / "new").exists()
    lock.unlink()
    assert isinstance(merge(repository), Merged)


def test_unusual_settings_are_obeyed(repository, worktree):
    repository.git("config", "core.fileMode", "false")
    (repository.folder / "a").chmod(0o755)
    done(repository, worktree, a="changed\n")

    assert isinstance(merge(repository), Merged)
    assert repository.status() == []
