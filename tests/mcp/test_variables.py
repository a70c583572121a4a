"""Variables over MCP: whose they are, and what a model may change."""

from typing import Any

import pytest
from hookworld import HookWorld
from mcpworld import call_from, run, text_of

from bridge.api.variables import Variables
from bridge.store.subagent_runs import all_runs

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def of_session(world: HookWorld, owner: Any) -> Variables:
    return Variables.of_session(
        world.store, world.bridge.settings, world.session, owner
    )


async def test_a_model_sets_only_its_own(world, use):
    """What a person or a tool has set binds the model."""
    of_session(world, "tool").set(validation_passed=False)

    setting = {"values": {"phase": "red", "limit": None}}
    done = await use("set_variables", setting)
    assert done.structured_content == {
        "of": f"session {world.session}",
        "variables": {
            "limit": {"value": None, "owner": "model"},
            "phase": {"value": "red", "owner": "model"},
            "validation_passed": {"value": False, "owner": "tool"},
        },
    }

    forbidden = {"values": {"validation_passed": True}, "unset": ["phase"]}
    refused = await use("set_variables", forbidden)
    assert refused.is_error
    assert "validation_passed belongs to the tool" in text_of(refused)

    unset = {"values": {}, "unset": ["limit"]}
    await use("set_variables", unset)
    read = await use("get_variables", {})
    assert text_of(read) == 'phase = "red" (model)\nvalidation_passed = false (tool)'


async def test_an_agent_has_its_own(world, use):
    """What its model sets does not reach the session, whose rules bind others."""
    of_session(world, "person").set(strict=True)
    _, agent = world.working()

    setting = {"values": {"phase": "red"}}
    done = await use("set_variables", setting, agent=agent)
    assert done.structured_content["of"] == f"agent {agent}"
    other = {"session": world.session}
    refused = await use("get_variables", {"session": "other"})
    assert "session 'other' is not yours" in text_of(refused)
    read = await use("get_variables", other)
    assert text_of(read) == "strict = true (person)"

    assert len(all_runs(world.store)) == 1


async def test_they_go_with_the_session_through_clear(world, use):
    """The server lives on, with the id of a session that is over."""
    await use("set_variables", {"values": {"phase": "red"}})
    world.start_again()

    read = await use("get_variables", {})
    assert read.structured_content["of"] == f"session {world.session}"
    assert text_of(read) == 'phase = "red" (model)'


async def test_another_program_is_a_model_too(world, outsider):
    """Behind an editor's call stands a model, whatever its environment says."""
    of_session(world, "person").set(strict=True)

    values = {"strict": False}
    refused = await outsider.call_tool("set_variables", {"values": values})
    assert refused.is_error
    done = await outsider.call_tool("set_variables", {"values": {"phase": "red"}})
    assert text_of(done) == 'phase = "red" (model)\nstrict = true (person)'


RULES = """
variables: {strict: true}
on_after_tool:
  - {when: variables.never, set_variable: {untested: true}}
"""
WORKER = "prompt: 'Go.'\nlifecycle_variables: {strict: null}\n"
REFUSED = {
    "strict": "strict belongs to the person (",
    "untested": "untested belongs to the rule on_after_tool[0] (",
    "checked": "checked belongs to the ",
}


@pytest.mark.parametrize("who", ["session", "agent", "another program"])
def test_error_a_model_gives_an_agent_what_it_may_not_set(world, who):
    """`start_agent` would be the way around `set_variables`."""
    (world.home / ".hostbridge" / "rules.yaml").write_text(RULES)
    of_session(world, "tool").set(checked=False)
    agent = world.working()[1] if who == "agent" else ""
    before = len(world.bridge.overview().requests)

    async def steps(client):
        for name, why in REFUSED.items():
            asked = {"prompt": "Go.", "variables": {"mine": 1, name: None}}
            if who == "another program":
                done = await client.call_tool("start_agent", asked)
            else:
                done = await call_from(world, client, "start_agent", asked, agent=agent)
            assert done.is_error
            assert why in text_of(done)

    run(steps, world.project, **({"CLAUDE_PID": ""} if "program" in who else {}))
    assert len(world.bridge.overview().requests) == before


async def test_a_definition_still_switches_a_rule_off_for_its_agent(world, use):
    """A person has written it, or trusts it."""
    (world.home / ".hostbridge" / "rules.yaml").write_text(RULES)
    world.define("worker", WORKER)

    asked = {"prompt": "Go.", "agent": "worker", "variables": {"phase": "red"}}
    done = await use("start_agent", asked)
    assert not done.is_error, text_of(done)

    (begun,) = world.bridge.overview().requests
    request = world.bridge.status(begun.request_id).request
    assert request.variables == {"strict": None, "phase": "red"}
