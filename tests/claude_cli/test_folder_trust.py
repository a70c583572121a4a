"""Which folders the client trusts: read from its record as the client reads it."""

import json
import os
import subprocess

import needs
import pytest
from gitworld import git
from hostworld import host_world

from bridge.bound.folder_trust import is_trusted, note_of
from bridge.config import Settings
from bridge.store.location import locate
from bridge.testing.stage.models import obedient_model

ACCEPTED = {"hasTrustDialogAccepted": True}


def repository(folder):
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def plain(root):
    (root / "a/b").mkdir(parents=True)
    return root / "a/b", root / "a/b"


def below(root):
    return plain(root)[0], root / "a"


def in_a_repository(root):
    main = repository(root / "main")
    return main, main


def repository_below(root):
    return repository(root / "a/b"), root / "a"


def nested(root):
    main = repository(root / "main")
    return repository(main / "inner"), main


def worktree(root):
    main = repository(root / "main")
    git(main, "worktree", "add", "-q", str(root / "tree"))
    return root / "tree", main


def forged_worktree(root):
    """An archive may say what it likes of the repository that it belongs to."""
    _, main = worktree(root)
    (root / "forged").mkdir()
    (root / "forged/.git").write_text(f"gitdir: {main}/.git/worktrees/tree\n")
    return root / "forged", main


def worktree_itself(root):
    tree, _ = worktree(root)
    return tree, tree


# What makes a folder and the one that was accepted, and whether the first is trusted.
FOLDERS = {
    plain: True,
    below: False,
    in_a_repository: True,
    repository_below: False,
    nested: False,
    worktree: True,
    forged_worktree: False,
    worktree_itself: False,
}


def accept(folder, home):
    text = json.dumps({"projects": {str(folder): ACCEPTED}})
    (home / ".claude.json").write_text(text)


def settings_in(home, **more):
    return Settings.from_environment({"HOME": str(home), **more})


@pytest.mark.parametrize("make", FOLDERS, ids=lambda make: make.__name__)
def test_a_folder(tmp_path, make):
    needs.tool("git")
    folder, accepted = make(tmp_path)
    accept(accepted, tmp_path)
    settings = settings_in(tmp_path)

    assert is_trusted(settings, locate(settings, folder)) is FOLDERS[make]


TYPICAL = {plain, nested, worktree, forged_worktree}


@pytest.mark.host
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(each, marks=() if each in TYPICAL else pytest.mark.full)
        for each in FOLDERS
    ],
    ids=lambda make: make.__name__,
)
def test_the_client_thinks_the_same(tmp_path, make):
    """It says when it ignores what a folder allows: there it does not trust it."""
    needs.tool("git")
    with host_world(tmp_path / "stage", obedient_model()) as world:
        stage = world.stage
        folder, accepted = make(tmp_path / "work")
        stage.trust(accepted)
        (folder / ".claude").mkdir(exist_ok=True)
        allows = {"permissions": {"allow": ["Bash(ls)"]}}
        (folder / ".claude/settings.json").write_text(json.dumps(allows))
        done = subprocess.run(
            stage.command("-p", "hi"),
            cwd=folder,
            env=stage.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )

    assert (b"has not been trusted" not in done.stderr) is FOLDERS[make], done.stderr


RECORDS = {
    "none": None,
    "empty": "",
    "no JSON": "{",
    "a list": "[]",
    "no projects": "{}",
    "projects are a list": '{"projects": []}',
    "the project is a list": '{"projects": {"P": []}}',
    "not accepted": '{"projects": {"P": {"hasTrustDialogAccepted": false}}}',
    "a word": '{"projects": {"P": {"hasTrustDialogAccepted": "true"}}}',
    "deep": "[" * 100_000,
    "not UTF-8": "\udcff",
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_record_that_does_not_say_so(tmp_path, record):
    settings = settings_in(tmp_path)
    place = locate(settings, tmp_path)
    if record is not None:
        text = record.replace("P", str(place.owner))
        (tmp_path / ".claude.json").write_text(text, errors="surrogateescape")

    assert not is_trusted(settings, place)


def test_a_record_that_is_a_pipe_holds_nobody_up(tmp_path):
    settings = settings_in(tmp_path)
    os.mkfifo(tmp_path / ".claude.json")

    assert not is_trusted(settings, locate(settings, tmp_path))


def test_where_the_record_lies(tmp_path):
    """Beside its folder, or in the one that is named; an older name comes first."""
    named = tmp_path / "named"
    named.mkdir()
    settings = settings_in(tmp_path, CLAUDE_CONFIG_DIR=str(named))
    place = locate(settings, tmp_path)

    accept(tmp_path, tmp_path)
    assert not is_trusted(settings, place)
    accept(tmp_path, named)
    assert is_trusted(settings, place)
    (named / ".config.json").write_text("{}")
    assert not is_trusted(settings, place)


def test_what_a_person_is_told(tmp_path):
    settings = settings_in(tmp_path)
    place = locate(settings, tmp_path)

    assert note_of(settings, place) == (
        f"Claude Code does not trust {tmp_path}: its settings, hooks, agents, MCP "
        "servers and CLAUDE.md are not used; to have them used, start `claude` there "
        "once and accept"
    )
    accept(tmp_path, tmp_path)
    assert note_of(settings, place) is None
