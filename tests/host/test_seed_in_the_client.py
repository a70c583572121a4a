"""Seed 000, "Verification" 1 to 5, in the real client; its texts are word for word.

Its definition is `mode: headless`, which a hook runs by itself (test_headless.py); here
the agent works in the open session.
"""

import json
import sys

import pytest
from hostworld import host_world
from ruleworld import calling, define_rules
from seedwords import DEFINITION
from seedwords import RULE as SEED

from bridge.agents.known_agents import Agents
from bridge.testing.stage.models import agent_output, launching, obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

IN_SESSION = DEFINITION.replace("mode: headless", "mode: terminal")
CHECK = "./pytest tests/"
REQUIRED = """
variables: {validation_model: haiku, require_task_before_edit: true}
on_before_tool:
  - name: delegate-checks
  - name: require-task
"""


def write_definition(world, text):
    world.define("validation-runner", text)
    # What the check runs leaves a trace.
    program = world.stage.project / "pytest"
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    world.allow("Bash", "Write")


def runs_it(_prompt, request):
    """An agent that runs the check, and reports it."""
    if not request.own_calls:
        return reply(tool_use("Bash", {"command": CHECK}))
    return agent_output()


def ran(world):
    return (world.stage.project / "ran").exists()


def test_v1_the_definition_is_read_as_it_is(tmp_path):
    with host_world(tmp_path) as world:
        write_definition(world, DEFINITION)
        agents = Agents.open(world.bridge.settings, world.stage.project)
        found = agents.find("validation-runner")

    assert (found.model, found.mode, found.workflow) == ("haiku", "headless", None)
    assert (found.timeout_s, found.max_turns) == (1800, 10)
    variables = {"validation_model": None, "require_task_before_edit": False}
    assert found.lifecycle_variables == variables


def test_v2_an_agent_is_asked_by_name_or_a_model_without_one(tmp_path):
    """`start_agent(agent=…, prompt=…)` and `start_agent(prompt=…, model=…)`."""
    with host_world(tmp_path, obedient_model()) as world:
        write_definition(world, IN_SESSION)
        named = world.submit("run pytest tests/", agent="validation-runner")
        bare = world.submit("run pytest", model="haiku")
        with world.stream():
            answers = [world.ended(each) for each in (named, bare)]
        turns = world.api.turns("subagent")

    assert all(each.success for each in answers)
    assert all("haiku" in turn.model for turn in turns)
    words = [turn.prompt for turn in turns]
    assert sum("run pytest tests/" in each for each in words) == 1
    request = world.bridge.status(named).request
    assert request.variables["validation_model"] is None


def test_v3_the_agent_runs_pytest_without_being_blocked(tmp_path):
    """Its variable switches the rule off; nothing else has to stop a loop."""
    with host_world(tmp_path, obedient_model(runs_it)) as world:
        write_definition(world, IN_SESSION)
        define_rules(world, REQUIRED)
        response = world.serve("stream", agent="validation-runner")
        story = world.bridge.story(response.request_id)

    assert response.success
    assert ran(world)
    assert [event for event in story.history if event["event"] == "rule"] == []
    assert len(world.responses()) == 1


def refused(request):
    """A main thread that tries the check once, and does nothing that it is told."""
    if request.own_calls or "go" not in request.last_user_text:
        return reply("no")
    return reply(tool_use("Bash", {"command": CHECK}))


def test_v4_the_hook_is_yaml_and_refuses_the_call(tmp_path):
    model = obedient_model(main=refused)
    with host_world(tmp_path, model) as world:
        write_definition(world, IN_SESSION)
        define_rules(world, SEED)
        world.tell("one-shot")
        words = world.main_words()

    assert not ran(world)
    assert "gives this to the agent validation-runner" in words


@pytest.mark.parametrize(
    ("how", "mode"),
    [("one-shot", "default"), ("stream", "default"), ("terminal", "auto")],
)
def test_v5_the_parent_runs_pytest_and_gets_the_agents_result(tmp_path, how, mode):
    """In the same turn, typed; the parent ran nothing, and no notice repeats it."""
    model = obedient_model(runs_it, main=calling(CHECK))
    with host_world(tmp_path, model) as world:
        write_definition(world, IN_SESSION)
        define_rules(world, SEED)
        world.tell(how, mode=mode)
        (response,) = world.responses()
        turns = world.api.turns("main")

    assert response.success
    assert ran(world)
    assert f"Run and report: {CHECK}" in world.subagent_words()
    assert "go" in turns[-1].last_user_text
    words = [json.dumps(turn.body["messages"]) for turn in turns]
    # The turn that follows the call of Agent has the answer.
    called = next(each for each in words if '"prompt": "bridge:' in each)
    assert "done on the stage" in called
    if how != "one-shot":
        assert "validation-runner answered" in called
        assert words[-1].count("done on the stage") == 1
    assert "<task-id>" not in words[-1]


@pytest.mark.parametrize("how", ["stream", "terminal"])
def test_a_second_variable_wants_a_task_before_edits(tmp_path, how):
    """The model says what it is about; an agent whose definition needs none is free."""
    made = tmp_path / "project" / "made"
    write = tool_use("Write", {"file_path": str(made), "content": "x"})
    say = f"{sys.executable} -m bridge vars set task=rename"
    steps = [write, tool_use("Bash", {"command": say}), write]

    def main(request):
        if "go" not in request.last_user_text or not steps:
            return launching()(request)
        return reply(steps.pop(0))

    def answers(_prompt, request):
        if request.own_calls:
            return agent_output()
        inner = {"file_path": f"{made}-by-agent", "content": "x"}
        return reply(tool_use("Write", inner))

    with host_world(tmp_path, obedient_model(answers, main=main)) as world:
        write_definition(world, IN_SESSION)
        define_rules(world, REQUIRED)
        request = world.submit(agent="validation-runner")
        with world.terminal() if how == "terminal" else world.stream() as session:
            response = world.ended(request)
            world.wait_until_forgotten()
            turns = len(world.api.turns("main"))
            (session.submit if how == "terminal" else session.ask)("go")
            world.wait_for_turns(turns + 4)
        words = world.main_words()

    assert response.success
    assert made.with_name("made-by-agent").exists()
    assert "Say what you are about to do before you edit" in words
    assert made.exists()
