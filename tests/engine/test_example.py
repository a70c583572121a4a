"""The complete example of the page on temporary agents, run from end to end."""

import pytest
from engine.flowworld import World
from flow.test_temporary_agents import EXAMPLE, FIXING, SCAN, SECURITY

from bridge.api.flow_result import result_of_run
from bridge.engine.view import view

FOUND = "Found 3 SQL injection vulnerabilities in auth.js:42, 67, 89 {fixes} $&"
IMPLEMENTER = "expert-code-implementer"
CALLS = [
    ("$security-scanner", None, "opus", f"{SECURITY}\n\n{SCAN}"),
    ("$fixer", IMPLEMENTER, "sonnet", f"{FIXING}\n\nFix the following issues: {FOUND}"),
    ("general-purpose", None, None, "Verify fixes are complete"),
]


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    text = f"---\nname: {IMPLEMENTER}\ndescription: Implements.\n---\nYou implement.\n"
    (tmp_path / "claude" / "agents" / f"{IMPLEMENTER}.md").write_text(text)
    return made


def variables(world, run):
    return result_of_run(world.store, world.settings, run).variables


def test_it_runs_as_the_page_says(world):
    """Each agent with its own words and model; each value once, when it is there."""
    run = world.begin(EXAMPLE)
    assert variables(world, run) == {"issues": None, "fixes": None}

    for agent, base, model, prompt in CALLS:
        (request,) = world.waiting().values()
        ran_by = request.definition and request.definition.subagent_type
        assert (request.agent_type, ran_by, request.model) == (agent, base, model)
        assert request.spoken == prompt
        world.answered(run, agent, FOUND if agent == "$security-scanner" else "done")

    assert world.advance(run)["status"] == "completed"
    assert variables(world, run) == {"issues": FOUND, "fixes": "done"}


def test_each_step_waits_before_it_runs(world):
    """`pending`, as the page has it, is what a run says of one nothing has reached."""
    run = world.begin(EXAMPLE)

    states = [entry.get("state") for *_, entry in view(world.store, run).steps()]
    assert states == ["open", None, None]


def test_one_agent_called_twice_is_asked_twice(world):
    """Two agents on one base, each with its own prompt and model."""
    world.begin("""
    $one := {base: "a", prompt: "P1", model: "haiku"}
    $two := {base: "a", prompt: "P2", model: "fable"}
    [$one:"x" || $two:"x" || $one:"y"]
    """)

    asked = [world.store.find(each).request for each in sorted(world.store.waiting())]

    expected = [("P1\n\nx", "haiku"), ("P2\n\nx", "fable"), ("P1\n\ny", "haiku")]
    assert [(each.spoken, each.model) for each in asked] == expected
