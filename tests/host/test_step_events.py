"""What happens in a conversation moves its step workflow, and what it says is told."""

import os

import pytest
from hookworld import HookWorld
from stepworld import (
    STOPS,
    TWO,
    activate,
    after,
    call,
    of_server,
    prompt,
    record,
    say,
    started,
    step,
    variables,
)

from bridge.store.variables import Holder, NotYours, read_variables, set_variables

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


TAKEN = """
name: two
variables: {cause: null, limit: 3}
steps:
  - name: look
    on_tool: {Read: {set_variable: {cause: tool_output}}}
    transitions: [{to: work, when: cause == "model"}]
  - name: work
"""


def as_person(world: HookWorld, **values: object) -> None:
    set_variables(world.store, Holder.session(world.session), values, "person")


@pytest.mark.parametrize("owner", ["person", "rule"])
def test_a_workflow_that_sets_what_is_somebodys_is_refused(world: HookWorld, owner):
    set_variables(world.store, Holder.session(world.session), {"cause": "x"}, owner)

    with pytest.raises(NotYours, match=f"cause belongs to the {owner} here"):
        activate(world, TAKEN)

    assert record(world) is None
    assert variables(world) == {"cause": "x"}


def test_what_a_person_has_set_is_only_read(world: HookWorld):
    as_person(world, limit=9)

    activate(world, TAKEN)

    assert variables(world) == {"cause": None, "limit": 9}
    known = read_variables(world.store, Holder.session(world.session))
    assert known["limit"].owner == "person"


def test_a_persons_parameter_goes_before_what_he_has_set(world: HookWorld):
    as_person(world, limit=9)

    activate(world, TAKEN, limit=5)

    assert variables(world)["limit"] == 5


def test_what_a_person_takes_over_stays_his(world: HookWorld):
    """No transition of the same event sees what was refused, either."""
    activate(world, TAKEN)
    # A person who sets a tool's variable leaves it the tool's; one of nobody is his.
    file = world.store.place.state / "sessions" / f"{world.session}.vars.json"
    file.write_text(file.read_text().replace('"tool"', '"person"'))

    after(world, "Read", "model")

    assert variables(world)["cause"] is None
    assert step(world) == "look"
    problems = (record(world) or {})["problems"]
    assert "cause is not set: it belongs to the person" in problems
