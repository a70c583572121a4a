"""start_agent with mode self: a step workflow acts on whoever calls."""

import pytest
from mcpworld import text_of
from stepworld import TWO, call, define, step, variables, write

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SELF = {"workflow": "two", "mode": "self"}


async def test_it_binds_the_main_conversation(world, use):
    write(world, TWO)
    begun = await use("start_agent", SELF)

    assert not begun.is_error
    assert "You are now in the workflow two, step look." in text_of(begun)

    assert step(world) == "look"
    assert not call(world, "Edit")[0]
    assert "Look around first." in call(world, "Read")[1]


async def test_it_binds_an_agent_of_ours_alone(world, use):
    write(world, TWO)
    _, agent = world.working()

    await use("start_agent", SELF, agent=agent)

    assert step(world, agent) == "look"
    assert not call(world, "Edit", agent_id=agent)[0]
    assert call(world, "Edit") == (True, "")


async def test_variables_are_its_parameters(world, use):
    write(world, TWO)
    given = {**SELF, "variables": {"seen": True}}
    await use("start_agent", given)

    assert step(world) == "work"
    assert variables(world)["seen"] is True


async def test_there_is_one_at_a_time(world, use):
    write(world, TWO)
    await use("start_agent", SELF)
    again = await use("start_agent", SELF)

    assert again.is_error
    assert "the workflow two is active in this conversation" in text_of(again)


@pytest.mark.parametrize("mode", [None, "self"])
async def test_a_definition_may_say_so(world, mode, use):
    more = "workflows: {two: {file: two.yaml, mode: self}}\n"
    define(world, TWO, more)

    given = {"agent": "worker", "workflow": "two", "mode": mode}
    begun = await use("start_agent", given)
    assert not begun.is_error, text_of(begun)

    assert step(world) == "look"


async def test_without_a_workflow_it_is_refused(use):
    refused = await use("start_agent", {"mode": "self"})

    assert refused.is_error
    assert "name one with `workflow`" in text_of(refused)


async def test_an_agent_that_is_not_ours_is_refused(world, use):
    write(world, TWO)
    refused = await use("start_agent", SELF, agent="theirs")

    assert refused.is_error
    assert "have the conversation that started you call" in text_of(refused)

    assert step(world) is None


@pytest.mark.parametrize("place", ["outside/two", "outside/two.yaml", "two.yaml.yaml"])
async def test_a_path_is_no_workflow_of_the_library(world, place, use):
    """What lies anywhere has nobody's trust."""
    folder = world.project / "outside"
    folder.mkdir()
    for name in ("two", "two.yaml"):
        (folder / name).write_text(TWO)
    (world.project / "two.yaml").write_text(TWO)

    for path in (place, str(world.project / place)):
        given = {"workflow": path, "mode": "self"}
        begun = await use("start_agent", given)

        assert begun.is_error
        assert "no workflow is named" in text_of(begun)

    assert step(world) is None


async def test_a_projects_workflow_waits_for_its_trust(world, use):
    folder = world.project / ".bridge" / "workflows"
    folder.mkdir(parents=True)
    (folder / "two.yaml").write_text(TWO)

    begun = await use("start_agent", SELF)

    assert begun.is_error
    assert "not trusted" in text_of(begun)

    assert step(world) is None
