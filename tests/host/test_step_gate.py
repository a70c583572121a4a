"""The step of an active workflow refuses and allows tool calls."""

import os

import pytest
from hookworld import HookWorld
from rulehooks import put_in_force
from stepworld import TWO, activate, after, call, prompt, say, step

from bridge.store.switch import switch_off

READS = ["Read", "Grep"]
ALWAYS = [
    "ToolSearch",
    "SubagentHandback",
    "StructuredOutput",
    "mcp__hostbridge__set_variables",
    "mcp__plugin_hostbridge_hostbridge__start_agent",
]


@pytest.mark.parametrize("tool", [*READS, *ALWAYS])
def test_what_a_step_allows_runs(world, tool):
    activate(world)
    prompt(world)

    assert call(world, tool) == (True, "")


def test_a_refused_call_says_what_the_step_allows_and_how_it_goes_on(world):
    activate(world)

    is_allowed, why = call(world, "Edit")

    assert not is_allowed
    assert "step look of the workflow two does not allow Edit" in why
    assert "it allows Read, Grep" in why
    assert "to work when seen" in why
    assert "set_variables" in why


def test_another_session_is_not_bound(world, monkeypatch):
    activate(world)
    world.session = "session-2"
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))

    assert call(world, "Edit") == (True, "")


def test_an_agent_that_is_not_ours_is_bound(world):
    """The user's own agents are part of the conversation that starts them."""
    activate(world)

    is_allowed, why = call(world, "Edit", agent_id="theirs", agent_type="Explore")

    assert not is_allowed
    assert "does not allow Edit" in why
    assert call(world, "Read", agent_id="theirs", agent_type="Explore") == (True, "")


def test_what_a_bound_agents_tools_return_moves_nothing(world):
    activate(world)
    say(world, seen=True)

    told = after(world, "Read", "x", agent_id="theirs", agent_type="Explore")

    assert told == ""
    assert step(world) == "look"


def test_an_agent_of_ours_is_not_bound_by_the_session(world: HookWorld):
    activate(world)
    _, agent = world.working()

    assert call(world, "Edit", agent_id=agent) == (True, "")


def test_an_offered_agent_may_be_started(world: HookWorld):
    activate(world)
    request = world.submit()
    prompt(world)

    world.launch(request)

    assert not call(world, "Agent", tool_input={"prompt": "x", "description": "d"})[0]


def test_switched_off_nothing_is_bound(world: HookWorld):
    activate(world)
    switch_off(world.store)

    assert call(world, "Edit") == (True, "")


def broken(world: HookWorld, text: str) -> None:
    activate(world)
    file = world.store.place.state / "sessions" / f"{world.session}.steps.json"
    file.write_text(text)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schemaVersion": 99}', '{"a": 1'])
def test_a_workflow_that_cannot_be_read_lets_the_users_calls_pass(world, text):
    broken(world, text)

    assert call(world, "Edit") == (True, "")
    line = world.say("UserPromptSubmit", prompt="hello")["systemMessage"]
    assert line.startswith("hostbridge: the session's workflow")
    assert "is not in force: " in line


def test_a_link_in_its_place_is_not_followed(world, tmp_path):
    activate(world)
    file = world.store.place.state / "sessions" / f"{world.session}.steps.json"
    kept = tmp_path / "kept.json"
    file.rename(kept)
    file.symlink_to(kept)

    assert call(world, "Edit") == (True, "")


def test_without_a_workflow_its_sign_goes(world: HookWorld):
    sign = world.store.place.state / "sessions" / f"{world.session}.steps"
    sign.touch()

    prompt(world)

    assert not sign.exists()


def test_the_sign_stays_while_one_is_active(world: HookWorld):
    activate(world)
    sign = world.store.place.state / "sessions" / f"{world.session}.steps"

    prompt(world)
    world.say("Stop")

    assert sign.exists()


def test_a_warning_is_told_and_the_call_runs(world: HookWorld):
    text = TWO.replace(
        "    transitions: [{to: work, when: seen}]\n",
        "    rules: [{when: 'tool_name == \"Grep\"', action: warn, message: Slow.}]\n"
        "    transitions: [{to: work, when: seen}]\n",
    )
    activate(world, text)
    prompt(world)

    assert call(world, "Grep") == (True, "Slow.")
    assert call(world, "Read") == (True, "")


def test_rules_see_the_workflow_and_its_step(world: HookWorld):
    put_in_force(
        world,
        'on_before_tool: [{when: \'workflow == "two" and current_step == "look"\','
        " tools: [Read], block: 'Not in {{ current_step }}.'}]\n",
    )
    assert call(world, "Read") == (True, "")
    activate(world)

    is_allowed, why = call(world, "Read", tool_use_id="toolu_2")

    assert not is_allowed
    assert "Not in look." in why
