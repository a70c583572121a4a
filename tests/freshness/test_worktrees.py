"""Linked worktrees of one repository: one state, and other files."""

import pytest
from cachedworld import READS, RUNS, CachedWorld
from gitworld import Repository
from runworld import call

from bridge import InvalidRequest
from bridge.api.bridge import Bridge

pytestmark = pytest.mark.slow


@pytest.fixture
def beside(world, tmp_path) -> CachedWorld:
    """The same agent, asked in a linked worktree."""
    repository = Repository(world.project, is_empty=True)
    world.write("src/a.py")
    repository.commit("first")
    repository.git("worktree", "add", "-q", str(tmp_path / "beside"))
    return world.at(Bridge(world.bridge.settings, tmp_path / "beside"))


def test_each_worktree_has_its_own_answer_to_a_question(world, beside):
    """An answer about the files of the one says nothing of the other's."""
    assert beside.bridge.store.place.state == world.bridge.store.place.state
    world.answer(READS)
    beside.write("src/a.py", "two\n")

    assert beside.is_asked_again(READS)
    assert not beside.is_asked_again(READS)
    assert not world.is_asked_again(READS)
    assert [len(each.bridge.stale()) for each in (world, beside)] == [1, 1]


def test_error_stale_of_an_answer_of_another_worktree(world, beside):
    request = world.answer(READS).request_id

    with pytest.raises(InvalidRequest) as caught:
        beside.bridge.stale([request])

    assert caught.value.what == (
        f"what the answer of request {request} rests on was not kept: a person gave "
        "it, or an earlier hostbridge, or it is of another worktree"
    )


LOOKS = {"Grep": call("search_text", text="one", folder="src"), "Bash": RUNS}


@pytest.mark.parametrize("tool", LOOKS)
def test_a_lock_can_be_written_in_a_linked_worktree(beside, tool):
    """What git says of it lies in the main one; no lock tells of that anyway."""
    beside.answer(LOOKS[tool])

    assert beside.bridge.write_lock(beside.project / "answers.lock") == (1, [])
    (found,) = beside.bridge.check_lock(beside.project / "answers.lock")
    assert found.state == "fresh"


def test_a_commit_in_a_linked_worktree_counts_for_commands(beside):
    beside.answer(RUNS)
    assert not beside.is_asked_again(RUNS)

    Repository.git(beside, "commit", "-qm", "more", "--allow-empty")

    assert beside.is_asked_again(RUNS)


def test_a_branch_of_a_submodule_counts_for_commands(world, tmp_path):
    """Its repository lies in that of the project above."""
    source = Repository(tmp_path / "source")
    above = Repository(tmp_path / "above")
    file = ("-c", "protocol.file.allow=always")
    above.git(*file, "submodule", "--quiet", "add", str(source.folder), "sub")
    inside = world.at(Bridge(world.bridge.settings, tmp_path / "above/sub"))
    inside.answer(RUNS)
    assert not inside.is_asked_again(RUNS)

    Repository.git(inside, "branch", "topic")

    assert inside.is_asked_again(RUNS)


def test_branches_in_a_table_count_for_commands(world):
    """As git keeps them in new repositories, if it is told to."""
    Repository(world.project, is_empty=True)
    world.write(".git/reftable/tables.list", "one\n")
    world.answer(RUNS)
    assert not world.is_asked_again(RUNS)

    world.write(".git/reftable/tables.list", "two\n")

    assert world.is_asked_again(RUNS)


def test_whatever_git_would_tell_counts_for_commands(world, tmp_path):
    """Of a merge that is not finished, its logs, its settings, other worktrees."""
    repo = Repository(world.project)
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("checkout", "-qb", "other")
    repo.git("commit", "-q", "--allow-empty", "-m", "other")
    repo.git("checkout", "-q", "main")
    world.answer(RUNS)
    assert not world.is_asked_again(RUNS)
    for words in (
        ("merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "other"),
        ("config", "--worktree", "user.name", "B"),
        ("reflog", "expire", "--expire=now", "refs/heads/main"),
        ("reflog", "delete", "HEAD@{0}"),
        ("worktree", "add", "-q", "--detach", str(tmp_path / "w")),
        ("bisect", "start"),
        ("merge", "--abort"),
    ):
        repo.git(*words)
        assert world.is_asked_again(RUNS), words
        assert not world.is_asked_again(RUNS), words
    for name in ("info/attributes", "info/grafts", "shallow", "FETCH_HEAD", "hooks/x",
                 "sequencer/todo"):  # fmt: skip
        world.write(f".git/{name}", "x\n")
        assert world.is_asked_again(RUNS), name
