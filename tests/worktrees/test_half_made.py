"""A worktree whose making was killed: what somebody did there since is work."""

import os

import pytest
from mergeworld import IDENT

from bridge import worktrees
from bridge.worktrees import UnsavedWork
from bridge.worktrees.worktree import write


@pytest.fixture
def half_made(repository, state):
    repository.write(".gitattributes", "id ident\n*.txt eol=crlf\n")
    repository.write("x.txt", "one\ntwo\n")
    repository.write("id", IDENT)
    repository.commit("more")
    folder = worktrees.folder_of(state, "run1", "dev")
    made = worktrees.create(repository.folder, "hostbridge/run1/dev", folder)
    (repository.folder / ".git/worktrees/hostbridge-run1-dev/index").unlink()
    write(made.at("making"))
    return made.at("making")


def again(half_made):
    worktrees.create(half_made.project, half_made.branch, half_made.folder)


@pytest.mark.parametrize("then", [again, worktrees.remove])
@pytest.mark.parametrize("path", ["a", "folder/new", "x.txt", "link"])
def test_error_files_of_others(half_made, path, then):
    place = half_made.folder / path
    if path == "link":
        place.unlink()
    place.write_text("mine")

    with pytest.raises(UnsavedWork, match=f"holds {path} not committed"):
        then(half_made)

    assert place.read_text() == "mine"


@pytest.mark.parametrize("then", [again, worktrees.remove])
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a", b"one\nt"),
        ("a", b""),
        ("x.txt", b"one\r"),
        ("id", b"# $Id: 0123456789012345678901234567890123456789$\n"),
        ("x.log", b"ignored"),
    ],
)
def test_what_its_making_wrote_is_in_nobodys_way(half_made, path, text, then):
    (half_made.folder / path).write_bytes(text)
    (half_made.folder / "folder/b").unlink()

    then(half_made)

    if then is again:
        assert (half_made.folder / "a").read_text() == "one\ntwo\nthree\n"
        assert (half_made.folder / "id").read_text() == IDENT
    else:
        assert not os.path.lexists(half_made.folder)


def test_error_commits_on_no_branch(repository, half_made):
    tree = half_made.folder
    repository.git("switch", "-q", "--detach", cwd=tree)
    repository.write("new", "x", cwd=tree)
    repository.commit("loose", cwd=tree)

    with pytest.raises(UnsavedWork, match="1 commits that are in no other branch"):
        worktrees.remove(half_made)
