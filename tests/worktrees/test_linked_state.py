"""A state directory behind a link, as of a home that is one: git names real paths."""

import pytest

from bridge import worktrees
from bridge.worker.worktree_step import do_action
from bridge.worktrees.checkouts import check_out, drop
from bridge.worktrees.worktree import find, records


@pytest.fixture
def linked(tmp_path, state):
    state.mkdir()
    link = tmp_path / "link"
    link.symlink_to(state)
    return link


def test_the_steps_of_a_pipeline_find_what_the_first_made(repository, linked):
    def do(action, **given):
        done = do_action(
            action=action,
            project=str(repository.folder),
            state=str(linked),
            run="run1",
            given=given,
        )
        return done["output"]

    folder = do("create", name="dev")["folder"]
    assert do("status", worktree=folder)["changed"] is False
    (record,) = records(linked)
    assert str(record) == f"{folder}.json"
    do("remove", worktree=folder)

    assert records(linked) == []
    assert repository.git("worktree", "list").count("\n") == 1


def test_what_a_record_names_is_removed(repository, linked):
    folder = worktrees.folder_of(linked, "run1", "dev")
    worktrees.create(repository.folder, "hostbridge/run1/dev", folder)
    (record,) = records(linked)

    worktrees.remove(find(record.with_suffix("")))

    assert repository.git("worktree", "list").count("\n") == 1


def test_a_checkout_leaves_nothing_in_git(repository, linked):
    folder = worktrees.folder_of(linked, "run1", "staged")
    check_out(repository.folder, folder, index=None, until_ms=2**42)

    drop(folder)

    assert repository.git("worktree", "list").count("\n") == 1
