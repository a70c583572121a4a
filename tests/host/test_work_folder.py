"""An agent that works in a worktree of the project, beside the session's own folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from defining import define
from gitworld import Repository

from bridge import worktrees

if TYPE_CHECKING:
    from pathlib import Path

    from hookworld import HookWorld

GRANTS = "allow: ['Edit(src/**)', 'Bash(pytest [-q] *)']\n"


@pytest.fixture
def tree(world: HookWorld) -> Path:
    """A worktree of the session's project, as a run makes it."""
    Repository(world.project)
    folder = worktrees.folder_of(world.store.place.state, "run1", "dev")
    return worktrees.create(world.project, "hostbridge/run1/dev", folder).folder


def started(world: HookWorld, folder: Path | str) -> str:
    define(world, GRANTS)
    world.drop("r1", agentType="worker", prompt="Do it.", folder=str(folder))
    world.say("UserPromptSubmit", prompt="hello")
    call = world.launch("r1")
    return world.start(call)


def test_grants_hold_in_the_worktree_and_nowhere_else(world, tree):
    """What it may change in its own files, it may not in the person's."""
    agent = started(world, tree)

    may = {
        place: world.permission(agent, "Edit", file_path=f"{place}/src/x.py")[
            "behavior"
        ]
        for place in (str(tree), str(world.project), str(tree.parent), f"{tree}/..")
    }
    runs = {
        command: world.permission(agent, "Bash", command=command)["behavior"]
        for command in (
            f"cd {tree} && pytest -q tests",
            f"cd {tree} && pytest -q ../..",
            f"cd {tree}/.. && pytest -q",
            "pytest -q",
        )
    }

    assert list(may.values()) == ["allow", "deny", "deny", "deny"]
    assert list(runs.values()) == ["allow", "deny", "deny", "deny"]


def test_the_prompt_names_the_folder(world, tree):
    started(world, tree)

    [prompt] = world.prompts.values()

    assert f"Work in the folder {tree}," in prompt
    assert f"`cd {tree} && `" in prompt


def test_an_agent_that_it_starts_works_there_too(world, tree):
    agent = started(world, tree)
    below = world.nest(agent)

    said = world.permission(below, "Edit", file_path=f"{tree}/src/x.py")

    assert said["behavior"] == "allow"


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("folder", ["/", "relative", "/nowhere", "{home}"])
def test_error_a_folder_that_is_not_the_projects(world, folder):
    """A value of a workflow cannot send an agent anywhere else."""
    define(world, GRANTS)
    place = folder.format(home=world.home)
    world.drop("r1", agentType="worker", prompt="Do it.", folder=place)
    world.say("UserPromptSubmit", prompt="hello")

    output = world.call_agent("bridge:r1")

    assert output["permissionDecision"] == "deny"
    error = world.response("r1").error
    assert error is not None
    assert error.code == "bad_request"
    assert json.dumps(place)[1:-1] in error.message


def test_error_a_worktree_that_only_claims_to_be_ours(world, tree, tmp_path):
    """A `.git` file that an archive brings names any repository."""
    forged = tmp_path / "forged"
    forged.mkdir()
    (forged / ".git").write_text((tree / ".git").read_text())
    world.drop("r1", agentType="general-purpose", prompt="Do it.", folder=str(forged))
    world.say("UserPromptSubmit", prompt="hello")

    world.call_agent("bridge:r1")

    error = world.response("r1").error
    assert error is not None
    assert "nor in a worktree of it" in error.message
