"""What happens in a conversation moves its step workflow, and what it says is told."""

from __future__ import annotations

import json
import os

import pytest
from hookworld import GOOD, HookWorld, running
from stepworld import (
    TWO,
    activate,
    after,
    call,
    define,
    of_server,
    prompt,
    record,
    say,
    step,
    variables,
)

from bridge.protocol.ids import check_id
from bridge.store import step_states

LOOK = "Workflow two, step look."
WORK = "Workflow two, step work."


def test_a_step_is_told_once_at_the_next_event(world: HookWorld):
    activate(world)

    told = prompt(world)

    assert told.startswith(LOOK)
    assert "Look around first." in told
    assert prompt(world) == ""
    assert after(world, "Read", "x") == ""


def test_an_allowed_call_tells_it_too(world: HookWorld):
    """A workflow may begin in the middle of a turn."""
    activate(world)

    is_allowed, told = call(world, "Read")

    assert is_allowed
    assert "Look around first." in told
    assert call(world, "Read", tool_use_id="toolu_next") == (True, "")


def test_a_hook_that_printed_nothing_has_told_nothing(world: HookWorld):
    """It was killed before its answer was out."""
    activate(world)

    world.answer("UserPromptSubmit", prompt="hello")

    assert "Look around first." in prompt(world)


def test_a_transition_fires_after_a_call_and_opens_its_tools(world: HookWorld):
    activate(world)
    prompt(world)
    assert not call(world, "Edit")[0]
    say(world, seen=True)

    told = after(world, "mcp__hostbridge__set_variables", of_server({}))

    assert told.startswith(WORK)
    assert "Now change it." in told
    assert call(world, "Edit", tool_use_id="toolu_2") == (True, "")


def test_a_transition_fires_at_a_prompt(world: HookWorld):
    activate(world)
    prompt(world)
    say(world, seen=True)

    assert WORK in prompt(world)


def test_a_transition_fires_after_a_call_that_failed(world: HookWorld):
    activate(world)
    prompt(world)
    say(world, seen=True)

    assert WORK in after(world, "Read", "no such file", event="PostToolUseFailure")


def test_the_end_is_told_and_frees(world: HookWorld):
    activate(world)
    say(world, seen=True)
    prompt(world)
    say(world, done=True)

    told = after(world, "Edit", {})

    assert "The workflow two has ended" in told
    assert step(world) is None
    assert record(world) is None
    sign = world.store.place.state / "sessions" / f"{world.session}.steps"
    assert not sign.exists()


def test_conditions_that_hold_at_once_are_passed_at_once(world: HookWorld):
    activate(world, seen=True)

    told = prompt(world)

    assert step(world) == "work"
    assert "Now change it." in told


ON_TOOL = """
name: two
variables: {passed: null, tries: 0}
steps:
  - name: check
    allowed_tools: [Read]
    on_tool:
      hostbridge:validate_task:
        set_variable: {passed: tool_output.passed}
        do: [{increment_variable: tries}]
    transitions:
      - {to: complete, when: passed}
      - {to: mend, when: passed == false}
  - name: mend
    allowed_tools: [Edit]
    transitions: [{to: check, when: 'tool_name == "Edit"'}]
  - name: complete
exit_condition: current_step == 'complete'
"""
VALIDATE = "mcp__hostbridge__validate_task"


def test_a_tools_result_goes_into_variables(world: HookWorld):
    activate(world, ON_TOOL)

    after(world, VALIDATE, of_server({"passed": False}), tool_use_id="toolu_a")

    assert variables(world) | {"passed": False, "tries": 1} == variables(world)
    assert step(world) == "mend"


def test_the_same_call_counts_once(world: HookWorld):
    """Two installs fire twice, and a hook that was killed is asked again."""
    activate(world, ON_TOOL)
    result = of_server({"passed": None})

    for _ in range(3):
        after(world, VALIDATE, result, tool_use_id="toolu_a")
    after(world, VALIDATE, result, tool_use_id="toolu_b")

    assert variables(world)["tries"] == 2
    assert step(world) == "check"


def test_what_a_tool_sets_is_no_models(world: HookWorld):
    activate(world, ON_TOOL)
    after(world, VALIDATE, of_server({"passed": False}), tool_use_id="toolu_a")

    with pytest.raises(Exception, match="passed belongs to the tool"):
        say(world, passed=True)


def test_a_notice_of_the_client_is_no_prompt(world: HookWorld):
    text = TWO.replace("when: seen", "when: prompt is not None")
    activate(world, text)

    world.notice("somebodys")
    before = step(world)
    prompt(world)

    assert (before, step(world)) == ("look", "work")


# The end of a turn

STOPS = TWO.replace(
    "exit_condition", "on_premature_stop: {message: Go on., max: 2}\nexit_condition"
)


def stopped(world: HookWorld, **fields: object) -> str:
    said = world.say("Stop", **fields).get("hookSpecificOutput", {})
    return str(said.get("additionalContext", ""))


def test_a_turn_that_ends_early_is_told_to_go_on_so_often(world: HookWorld):
    activate(world, STOPS)
    prompt(world)

    said = [stopped(world) for _ in range(4)]

    assert ["Go on." in each for each in said] == [True, True, False, False]
    assert "step look of the workflow two is not done" in said[0]


def test_a_new_step_counts_anew(world: HookWorld):
    activate(world, STOPS)
    for _ in range(3):
        stopped(world)
    say(world, seen=True)
    prompt(world)

    assert "Go on." in stopped(world)


def test_without_words_a_turn_may_end(world: HookWorld):
    activate(world)

    assert stopped(world) == ""


@pytest.mark.parametrize("kind", ["subagent", "MCP task"])
def test_it_does_not_nag_while_something_works_on(world: HookWorld, kind: str):
    activate(world, STOPS)
    tasks = [{"id": "a", "type": kind, "status": "running"}]

    assert stopped(world, background_tasks=tasks) == ""
    assert "Go on." in stopped(world, background_tasks=[])


def test_it_does_not_nag_while_an_agent_of_ours_works(world: HookWorld):
    activate(world, STOPS)
    world.working()

    assert stopped(world) == ""


# A conversation that goes on


def started(world: HookWorld, source: str, **fields: object) -> str:
    said = world.say("SessionStart", source=source, **fields)
    return str(said["hookSpecificOutput"]["additionalContext"])


@pytest.mark.parametrize("source", ["compact", "resume"])
def test_the_step_is_said_again(world: HookWorld, source: str):
    activate(world)
    prompt(world)

    told = started(world, source)

    assert LOOK in told
    assert "Look around first." in told
    assert "The user has installed hostbridge" in told


def test_cleared_the_conversation_keeps_its_workflow(world: HookWorld):
    activate(world)
    say(world, seen=False)
    world.say("SessionEnd", reason="clear")
    world.session = "session-2"

    told = started(world, "clear")

    assert LOOK in told
    assert not call(world, "Edit")[0]
    say(world, seen=True)
    assert WORK in prompt(world)
    say(world, done=True)
    prompt(world)
    prompt(world)
    left = {each.name for each in (world.store.place.state / "sessions").iterdir()}
    assert not {name for name in left if name.endswith(".steps")}


def test_a_new_session_has_none(world: HookWorld, monkeypatch: pytest.MonkeyPatch):
    activate(world)
    world.session = "session-2"
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))

    assert LOOK not in started(world, "startup")
    assert call(world, "Edit") == (True, "")


# Agents of ours


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
    define(world, TWO.replace("[Read, Grep]", "[Read, Agent]"))
    _, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)
    nested = world.nest(agent)

    is_allowed, why = call(world, "Edit", agent_id=nested)

    assert not is_allowed
    assert "step look of the workflow two" in why
    assert call(world, "Read", agent_id=nested, tool_use_id="toolu_r") == (True, "")


def test_it_goes_through_its_steps(world: HookWorld):
    define(world)
    _, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)
    say(world, agent, seen=True)

    told = after(world, "Read", "x", agent_id=agent)

    assert told.startswith(WORK)
    assert call(world, "Edit", agent_id=agent, tool_use_id="toolu_e")[0]


def test_it_may_not_end_before_its_workflow(world: HookWorld):
    define(world, STOPS)
    request, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)

    said = [world.stop(agent) for _ in range(3)]

    assert [each.get("decision") for each in said] == ["block", "block", None]
    assert "Go on." in said[0]["reason"]
    assert world.code(request) == "success"


def test_it_is_not_held_back_while_its_own_work(world: HookWorld):
    define(world, STOPS)
    _, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)

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
    define(world, STOPS)
    _, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)

    is_allowed, why = call(
        world, "SubagentHandback", agent_id=agent, tool_input={"message": GOOD}
    )

    assert not is_allowed
    assert "Go on." in why


def test_compacted_it_is_told_its_step_again(world: HookWorld):
    define(world)
    _, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)

    told = started(world, "compact", agent_id=agent)

    assert "Look around first." in told
    assert "answer" in told.lower()


def test_its_end_leaves_nothing(world: HookWorld):
    define(world)
    request, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)

    world.stop(agent)
    world.notice(agent)
    prompt(world)

    assert world.code(request) == "success"
    left = [each.name for each in (world.store.place.state / "agents").iterdir()]
    assert left == []
    assert not (world.store.place.state / "sessions/session-1.steps").exists()


def test_a_workflow_with_an_error_ends_the_request_by_name(world: HookWorld):
    define(world, "name: two\nsteps: 3\n")
    request = world.submit(agent="worker")
    prompt(world)

    denied = world.call_agent(f"bridge:{request}")

    assert denied["permissionDecision"] == "deny"
    error = world.response(request).error
    assert error is not None
    assert "two.yaml:2:1: steps: " in error.message


def test_a_lost_workflow_binds_an_agent_of_ours(world: HookWorld):
    define(world)
    _, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)
    (world.store.place.state / "agents" / f"{agent}.steps").write_text("{")

    is_allowed, why = call(world, "Read", agent_id=agent, tool_use_id="toolu_2")

    assert not is_allowed
    assert "the workflow of this agent binds it, and is lost" in why


def test_states_of_agents_lie_beside_them(world: HookWorld):
    define(world)
    _, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)
    file = world.store.place.state / "agents" / f"{agent}.steps"

    assert json.loads(file.read_bytes())["by"] == "agent"
    assert step_states.SIGN == ".steps"


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
    assert request is not None
    assert f"bridge:{request_id}" in prompt(world)
    return request.task_id, request.prompt
