"""A submodule, and what people and agents put where it is, or was."""

import os
import shutil

import pytest
from mergeworld import BRANCH, merge

from bridge import worktrees
from bridge.worktrees import DirtyFiles, Merged, WorktreeRefused


@pytest.fixture
def tree(repository, state, tmp_path):
    """The folder of a worktree, of a project with the submodule `sub`."""
    repository.add_submodule(tmp_path / "other")
    folder = worktrees.folder_of(state, "run1", "dev")
    worktrees.create(repository.folder, BRANCH, folder)
    return folder


def test_error_a_file_in_its_empty_folder_is_not_committed(repository, tree):
    """As git refuses it: the commit would have the file and no submodule."""
    repository.write("sub/deep/work", "x", cwd=tree)

    with pytest.raises(WorktreeRefused, match="sub is a submodule"):
        worktrees.commit(worktrees.find(tree), "work")

    assert (tree / "sub/deep/work").exists()


@pytest.mark.parametrize("is_checked_out", [True, False])
def test_files_come_where_it_was(repository, tree, is_checked_out):
    repository.git("rm", "-q", "sub", cwd=tree)
    repository.write("sub/new", "x", cwd=tree)
    repository.commit("files", cwd=tree)
    if is_checked_out:
        with pytest.raises(DirtyFiles) as caught:
            merge(repository)
        assert caught.value.files == ("sub",)
        assert not (repository.folder / "sub/new").exists()
    else:
        repository.git("submodule", "deinit", "-q", "-f", "sub")
        assert isinstance(merge(repository), Merged)
        assert repository.status() == []


@pytest.mark.parametrize("what", ["file", "link"])
@pytest.mark.parametrize("comes", ["nothing", "sub/new"])
def test_what_a_person_has_in_its_place_stays(repository, tree, what, comes):
    repository.git("rm", "-q", "sub", cwd=tree)
    if comes != "nothing":
        repository.write(comes, "x", cwd=tree)
    repository.commit("gone", cwd=tree)
    place = repository.folder / "sub"
    shutil.rmtree(place)
    place.write_text("mine") if what == "file" else place.symlink_to("a")

    if comes == "nothing":
        merge(repository)
    else:
        with pytest.raises(DirtyFiles, match="sub"):
            merge(repository)

    assert os.path.lexists(place)


def test_error_a_merge_drops_no_staged_submodule(repository, worktree):
    """Neither is in the other's tree, and the index can have only one of them."""
    repository.write("sub/new", "x", cwd=worktree.folder)
    worktrees.commit(worktree, "work")
    head = repository.tip("main")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},sub")

    with pytest.raises(WorktreeRefused, match="would take the place"):
        merge(repository)

    assert repository.git("ls-files", "-s", "sub").startswith("160000")
    assert not (repository.folder / "sub").exists()
