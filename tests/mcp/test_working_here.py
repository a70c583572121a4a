"""start_agent with mode self: a step workflow acts on whoever calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcpworld import call_from, run, text_of
from stepworld import TWO, call, define, step, variables, write

if TYPE_CHECKING:
    from hookworld import HookWorld
    from mcp.client import Client

SELF = {"workflow": "two", "mode": "self"}


def test_it_binds_the_main_conversation(world: HookWorld):
    write(world, TWO)

    async def steps(client: Client) -> None:
        begun = await call_from(world, client, "start_agent", SELF)

        assert not begun.is_error
        assert "You are now in the workflow two, step look." in text_of(begun)

    run(steps, world.project)

    assert step(world) == "look"
    assert not call(world, "Edit")[0]
    assert "Look around first." in call(world, "Read")[1]


def test_it_binds_an_agent_of_ours_alone(world: HookWorld):
    write(world, TWO)
    _, agent = world.working()

    async def steps(client: Client) -> None:
        await call_from(world, client, "start_agent", SELF, agent=agent)

    run(steps, world.project)

    assert step(world, agent) == "look"
    assert not call(world, "Edit", agent_id=agent)[0]
    assert call(world, "Edit") == (True, "")


def test_variables_are_its_parameters(world: HookWorld):
    write(world, TWO)

    async def steps(client: Client) -> None:
        given = {**SELF, "variables": {"seen": True}}
        await call_from(world, client, "start_agent", given)

    run(steps, world.project)

    assert step(world) == "work"
    assert variables(world)["seen"] is True


def test_there_is_one_at_a_time(world: HookWorld):
    write(world, TWO)

    async def steps(client: Client) -> None:
        await call_from(world, client, "start_agent", SELF)
        again = await call_from(world, client, "start_agent", SELF)

        assert again.is_error
        assert "the workflow two is active in this conversation" in text_of(again)

    run(steps, world.project)


@pytest.mark.parametrize("mode", [None, "self"])
def test_a_definition_may_say_so(world: HookWorld, mode: str | None):
    more = "workflows: {two: {file: two.yaml, mode: self}}\n"
    define(world, TWO, more)

    async def steps(client: Client) -> None:
        given = {"agent": "worker", "workflow": "two", "mode": mode}
        begun = await call_from(world, client, "start_agent", given)
        assert not begun.is_error, text_of(begun)

    run(steps, world.project)

    assert step(world) == "look"


def test_without_a_workflow_it_is_refused(world: HookWorld):
    async def steps(client: Client) -> None:
        refused = await call_from(world, client, "start_agent", {"mode": "self"})

        assert refused.is_error
        assert "name one with `workflow`" in text_of(refused)

    run(steps, world.project)


def test_an_agent_that_is_not_ours_is_refused(world: HookWorld):
    write(world, TWO)

    async def steps(client: Client) -> None:
        refused = await call_from(world, client, "start_agent", SELF, agent="theirs")

        assert refused.is_error
        assert "have the conversation that started you call" in text_of(refused)

    run(steps, world.project)
    assert step(world) is None


@pytest.mark.parametrize("place", ["outside/two", "outside/two.yaml", "two.yaml.yaml"])
def test_a_path_is_no_workflow_of_the_library(world: HookWorld, place: str):
    """What lies anywhere has nobody's trust."""
    folder = world.project / "outside"
    folder.mkdir()
    for name in ("two", "two.yaml"):
        (folder / name).write_text(TWO)
    (world.project / "two.yaml").write_text(TWO)

    async def steps(client: Client) -> None:
        for path in (place, str(world.project / place)):
            given = {"workflow": path, "mode": "self"}
            begun = await call_from(world, client, "start_agent", given)

            assert begun.is_error
            assert "no workflow is named" in text_of(begun)

    run(steps, world.project)

    assert step(world) is None


def test_a_projects_workflow_waits_for_its_trust(world: HookWorld):
    folder = world.project / ".bridge" / "workflows"
    folder.mkdir(parents=True)
    (folder / "two.yaml").write_text(TWO)

    async def steps(client: Client) -> None:
        begun = await call_from(world, client, "start_agent", SELF)

        assert begun.is_error
        assert "not trusted" in text_of(begun)

    run(steps, world.project)

    assert step(world) is None
