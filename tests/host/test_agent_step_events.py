"""What the hooks do about the step workflow of an agent of ours."""

import pytest
from hookworld import GOOD, HookWorld, running
from stepworld import (
    STOPS,
    TWO,
    activate,
    after,
    call,
    define,
    led,
    prompt,
    say,
    started,
    step,
    variables,
)

from bridge.protocol.ids import check_id
from bridge.store import step_states

WORK = "Workflow two, step work."


def test_an_agent_begins_its_workflow_at_its_first_call(world: HookWorld):
    define(world)
    _, launched, agent = world.begin(agent="worker")

    assert "You work through the step workflow two." in world.prompts[launched]
    is_allowed, told = call(world, "Read", agent_id=agent)

    assert is_allowed
    assert "Look around first." in told
    assert step(world, agent) == "look"
    is_allowed, why = call(world, "Edit", agent_id=agent, tool_use_id="toolu_e")
    assert not is_allowed
    assert "does not allow Edit" in why
    assert call(world, "Edit") == (True, "")


def test_its_first_call_may_be_refused(world: HookWorld):
    define(world)
    _, _, agent = world.begin(agent="worker")

    is_allowed, why = call(world, "Edit", agent_id=agent)

    assert not is_allowed
    assert "step look" in why
    assert "Look around first." in call(world, "Read", agent_id=agent)[1]


def test_its_own_agents_are_bound_by_it(world: HookWorld):
    _, agent = led(world, TWO.replace("[Read, Grep]", "[Read, Agent]"))
    nested = world.nest(agent)

    is_allowed, why = call(world, "Edit", agent_id=nested)

    assert not is_allowed
    assert "step look of the workflow two" in why
    assert call(world, "Read", agent_id=nested, tool_use_id="toolu_r") == (True, "")


def test_it_goes_through_its_steps(world: HookWorld):
    _, agent = led(world)
    say(world, agent, seen=True)

    told = after(world, "Read", "x", agent_id=agent)

    assert told.startswith(WORK)
    assert call(world, "Edit", agent_id=agent, tool_use_id="toolu_e")[0]


def test_it_may_not_end_before_its_workflow(world: HookWorld):
    request, agent = led(world, STOPS)

    said = [world.stop(agent) for _ in range(3)]

    assert [each.get("decision") for each in said] == ["block", "block", None]
    assert "Go on." in said[0]["reason"]
    error = world.response(request).error
    left = "in step 'look' of the workflow two"
    assert error.message == f"the agent ended before its workflow did: {left}"
    assert (error.code, world.response(request).raw_output) == ("steps_left", GOOD)


def test_a_record_of_a_newer_hostbridge_ends_its_request_by_name(world, monkeypatch):
    """And holds up nobody else's end, which the same events tell of."""
    request, agent = led(world, STOPS)
    monkeypatch.setattr(step_states, "KEYS", step_states.KEYS - {"params"})

    for _ in range(3):
        world.stop(agent)
    world.notice(agent)
    prompt(world)

    error = world.response(request).error
    assert error.code == "steps_left"
    assert "params: not known to this hostbridge" in error.message


def test_it_is_not_held_back_while_its_own_work(world: HookWorld):
    _, agent = led(world, STOPS)

    assert world.stop(agent, background_tasks=running("helper")) == {}


def test_an_answer_without_any_call_is_held_back(world: HookWorld):
    define(world, STOPS)
    _, _, agent = world.begin(agent="worker")

    said = world.stop(agent, GOOD)

    assert said["decision"] == "block"
    assert step(world, agent) == "look"


def test_in_the_background_it_is_itself_what_works_on(world: HookWorld):
    define(world, STOPS)
    _, _, agent = world.begin(agent="worker")
    own = {"id": agent, "type": "subagent", "status": "running"}

    said = world.stop(agent, GOOD, background_tasks=[own])

    assert said["decision"] == "block"


def test_in_auto_mode_its_report_is_held_back(world: HookWorld):
    _, agent = led(world, STOPS)

    is_allowed, why = call(
        world, "SubagentHandback", agent_id=agent, tool_input={"message": GOOD}
    )

    assert not is_allowed
    assert "Go on." in why


def test_compacted_it_is_told_its_step_again(world: HookWorld):
    _, agent = led(world)

    told = started(world, "compact", agent_id=agent)

    assert "Look around first." in told
    assert "answer" in told.lower()


def test_its_end_leaves_nothing(world: HookWorld):
    request, agent = led(world)

    world.stop(agent)
    world.notice(agent)
    prompt(world)

    assert world.code(request) == "steps_left"
    left = [each.name for each in (world.store.place.state / "agents").iterdir()]
    assert left == []
    assert not (world.store.place.state / "sessions/session-1.steps").exists()


def test_a_workflow_with_an_error_ends_the_request_by_name(world: HookWorld):
    """It was in order when the request was submitted."""
    define(world)
    request = world.submit(agent="worker")
    define(world, "name: two\nsteps: 3\n")
    prompt(world)

    denied = world.call_agent(f"bridge:{request}")

    assert denied["permissionDecision"] == "deny"
    error = world.response(request).error
    assert "two.yaml:2:1: steps: " in error.message


def test_a_request_names_no_file(world: HookWorld):
    """Claude Code's own agents have no definition that says which they may."""
    (world.project / "two").write_text(TWO)
    prompt(world)
    world.drop("r-1", prompt="Go.", workflow=str(world.project / "two.yaml"))

    denied = world.call_agent("bridge:r-1")

    assert denied["permissionDecision"] == "deny"
    error = world.response("r-1").error
    assert "no workflow is named" in error.message


def test_a_lost_workflow_binds_an_agent_of_ours(world: HookWorld):
    _, agent = led(world)
    (world.store.place.state / "agents" / f"{agent}.steps").write_text("{")

    is_allowed, why = call(world, "Read", agent_id=agent, tool_use_id="toolu_2")

    assert not is_allowed
    assert "this agent must follow a workflow that cannot be read" in why


# What a step asks of an agent

SPAWNS = """
name: two
steps:
  - name: look
    on_enter: [{spawn_agent: {agent: general-purpose, %s into: asked}}]
    transitions: [{to: complete, when: prompt == "done"}]
  - name: complete
exit_condition: current_step == 'complete'
"""


def test_an_agent_that_is_told_nothing_else_is_told_its_task(world: HookWorld):
    task = world.bridge.call_tool(
        "create_task", {"title": "Add a column", "description": "To the table."}
    )

    told = prompt_of(world, f'task_id: "{task["id"]}",')

    assert told == ("#1", "Task #1: Add a column\n\nTo the table.")


def test_a_prompt_goes_before_the_words_of_its_task(world: HookWorld):
    world.bridge.call_tool("create_task", {"title": "Add a column"})

    assert prompt_of(world, 'task_id: "#1", prompt: Look.,') == ("#1", "Look.")


@pytest.mark.parametrize(
    ("fields", "why"),
    [('task_id: "#9",', "there is no task #9"), ("", "has neither a prompt nor")],
)
def test_an_agent_without_words_is_not_asked(world: HookWorld, fields: str, why: str):
    found = activate(world, SPAWNS % fields)

    assert why in " ".join(found.problems)
    assert list(world.store.waiting()) == []


def prompt_of(world: HookWorld, fields: str) -> tuple[str | None, str]:
    """The task and the prompt of the agent that a step asks."""
    activate(world, SPAWNS % fields)
    request_id = variables(world)["asked"]["request_id"]
    request = world.store.find_unfinished(check_id(request_id))
    assert f"bridge:{request_id}" in prompt(world)
    return request.task_id, request.prompt
