"""Merges that are refused by name, and change nothing."""

import pytest
from mergeworld import done, merge, part

from bridge import worktrees
from bridge.worktrees import DirtyFiles, Merged, WorktreeRefused, work_tree


def checked_out_elsewhere(repository):
    repository.git("switch", "-qc", "mine")
    repository.git("worktree", "add", "-q", "../other", "main")


def rebased(repository):
    """Git would overwrite what was merged when the rebase ends."""
    part(repository)
    repository.git("rebase", "-q", "side", ok=False)


def being_merged(repository):
    part(repository)
    repository.git("merge", "side", ok=False)


def sparse(repository):
    repository.git("sparse-checkout", "set", "folder")


def split(repository):
    repository.git("update-index", "--split-index")


STATES = {
    checked_out_elsewhere: r"is checked out in .*/other",
    rebased: "'main' is being rebased in",
    being_merged: "is in the middle of a merge",
    sparse: "is a sparse checkout",
    split: "--no-split-index",
}


@pytest.mark.parametrize(("change", "why"), STATES.items())
def test_error_a_state_in_which_nothing_is_merged(repository, worktree, change, why):
    done(repository, worktree, new="x")
    change(repository)

    with pytest.raises(WorktreeRefused, match=why):
        merge(repository)


@pytest.mark.usefixtures("worktree")
def test_error_branches_that_are_not_there(repository):
    with pytest.raises(WorktreeRefused, match="has no branch 'nowhere'"):
        merge(repository, "nowhere")
    with pytest.raises(WorktreeRefused, match="has no branch 'x'"):
        worktrees.merge(repository.folder, "x", "main")


@pytest.mark.usefixtures("worktree")
def test_error_nothing_in_common(repository):
    repository.git("switch", "-q", "--orphan", "other")
    repository.write("z", "z")
    repository.commit("z")

    with pytest.raises(WorktreeRefused, match="have no commit in common"):
        merge(repository, "other")


def test_error_a_filtered_file_in_the_work_tree(repository, worktree):
    """It would be written as the pointer that it is in the repository."""
    repository.write(".gitattributes", "*.bin filter=lfs\n")
    repository.commit("lfs")
    repository.git("merge", "-q", "main", cwd=worktree.folder)
    repository.write("x.bin", "pointer", cwd=worktree.folder)
    repository.git("-c", "filter.lfs.clean=cat", "add", "-A", cwd=worktree.folder)
    repository.git("commit", "-qm", "bin", cwd=worktree.folder)

    with pytest.raises(WorktreeRefused, match="it will not write it"):
        merge(repository)

    repository.git("switch", "-qc", "mine")
    assert isinstance(merge(repository), Merged)


@pytest.mark.parametrize("name", [".git", ".GIT", ".g\u200cit", "git~1"], ids=ascii)
def test_error_a_commit_that_would_write_into_gits_folder(repository, worktree, name):
    """Git makes no such tree, but anybody can, and push it."""
    blob = repository.git("hash-object", "-w", "a").strip()
    inner = mktree(repository, "100644", blob, "config")
    tree = mktree(repository, "40000", inner, name)
    made = repository.git("commit-tree", "-p", "main", "-m", "x", tree).strip()
    repository.git("update-ref", f"refs/heads/{worktree.branch}", made)
    config = (repository.folder / ".git/config").read_bytes()

    with pytest.raises(WorktreeRefused, match="is no path that a commit may hold"):
        merge(repository)

    assert (repository.folder / ".git/config").read_bytes() == config
    assert repository.status() == []


def mktree(repository, mode, sha, name):
    """A tree of one entry, without git's checks of names."""
    file = repository.folder / ".git/raw"
    file.write_bytes(f"{mode} {name}\0".encode() + bytes.fromhex(sha))
    words = ("hash-object", "-w", "-t", "tree", "--literally", str(file))
    return repository.git(*words).strip()


@pytest.mark.parametrize(
    "name",
    [".claude/settings.json", ".Claude/agents/x.md", ".bridge/workflows/x.yaml",
     ".mcp.json", "deep/.claude/settings.json"],
)  # fmt: skip
def test_error_a_branch_that_changes_what_governs_sessions(repository, worktree, name):
    """Hooks that an agent has written would run in the person's next session."""
    done(repository, worktree, **{name: "x", "a": "x"})

    with pytest.raises(WorktreeRefused) as caught:
        merge(repository)

    assert str(caught.value) == (
        f"{repository.folder}: the branch changes what governs sessions here: {name}. "
        "What to do: look at it, and merge with git"
    )
    assert repository.status() == []
    assert repository.tip("main") == worktree.start
    repository.git("switch", "-qc", "mine")
    with pytest.raises(WorktreeRefused):
        merge(repository)


def test_error_a_link_to_a_folder_in_the_way(repository, worktree):
    repository.git("rm", "-qr", "folder", cwd=worktree.folder)
    done(repository, worktree, folder="x")
    (repository.folder / "folder/mine").symlink_to("..")

    with pytest.raises(worktrees.DirtyFiles, match="not committed: folder/mine"):
        merge(repository)


@pytest.mark.parametrize("victim", ["a", "deep/new", "folder/b"])
def test_error_a_file_that_is_saved_while_a_merge_is_written(
    repository, worktree, monkeypatch, victim
):
    """It stays; the merge can be made again once it is out of the way."""
    done(repository, worktree, **{"a": "x", "deep/new": "x", "folder/b": None})
    last_look = work_tree.dirty

    def saved_after(git, planned):
        files = last_look(git, planned)
        repository.write(victim, "mine")
        return files

    with monkeypatch.context() as patched:
        patched.setattr("bridge.worktrees.merging.dirty", saved_after)
        with pytest.raises(DirtyFiles, match=f"{victim} was saved while"):
            merge(repository)

    assert (repository.folder / victim).read_text() == "mine"
    (repository.folder / victim).unlink()
    assert isinstance(merge(repository), Merged)
    assert repository.status() == []
