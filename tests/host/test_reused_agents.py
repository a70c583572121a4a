"""An agent whose definition says `reuse` gets the next question of its kind."""

import pytest
from followups import AGAIN, REUSING, idle, offered


def reusing(world, bounds="true"):
    """An agent that has answered, and may be asked again; its request and its id."""
    world.define("terse", f"{REUSING}reuse: {bounds}\n")
    return world.answered(agent="terse")


def next_question(world):
    """Another question for an agent of its kind, which was offered."""
    request = world.submit("Next.", agent="terse")
    offered(world)
    return request


def test_the_next_question_of_a_reusing_agent_goes_to_the_idle_one(world):
    earlier, agent = reusing(world)

    request = world.submit("Next.", agent="terse")
    text = offered(world)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)
    world.stop(agent, AGAIN)

    assert f'"to":"{agent}"' in text
    assert world.response(request).continued.first == earlier


def test_without_reuse_each_question_gets_a_new_agent(world):
    world.define("terse", REUSING)
    world.answered(agent="terse")

    request = world.submit("Next.", agent="terse")

    assert "SendMessage" not in offered(world)
    assert world.found(request).request.claim.continued is None


@pytest.mark.parametrize(
    ("bounds", "pause_s"),
    [("{questions: 2}", 0), ("{age: 60}", 61)],
    ids=["questions", "age"],
)
def test_a_spent_agent_gets_nothing_more(world, bounds, pause_s):
    _, agent = reusing(world, bounds)
    if not pause_s:
        request = world.submit("Second.", agent="terse")
        offered(world)
        call, output = world.send(request, agent)
        world.resume(call, agent, output)
        world.stop(agent, AGAIN)
        world.notice(agent, **{"tool-use-id": call})
    world.pass_time(pause_s)

    world.submit("Next.", agent="terse")

    assert "call Agent once" in offered(world)


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "haiku"},
        {"schema": {"type": "object", "required": ["b"]}},
        {"variables": {"x": 1}},
    ],
    ids=["model", "schema", "variables"],
)
def test_another_kind_of_question_gets_a_new_agent(world, fields):
    reusing(world)

    world.submit("Next.", agent="terse", **fields)

    assert "call Agent once" in offered(world)


def test_two_questions_at_once_get_two_agents(world):
    reusing(world)
    world.submit("One.", agent="terse")
    world.submit("Two.", agent="terse")

    text = offered(world)

    assert text.count("call SendMessage once") == text.count("call Agent once") == 1


def test_a_model_may_start_a_new_agent_all_the_same(world):
    """It need not continue, and the idle agent is free again."""
    _, agent = reusing(world)
    request = next_question(world)

    call = world.launch(request)
    world.stop(world.start(call))

    assert world.response(request).continued is None
    assert agent in [each.agent_id for each in idle(world)]


def test_a_pooled_agent_that_is_gone_makes_room_for_a_new_one(world):
    _, agent = reusing(world)
    request = next_question(world)
    call, output = world.send(request, agent)

    said = world.resume(call, agent, output, success=False, message="gone")
    text = said["hookSpecificOutput"]["additionalContext"]
    world.stop(world.start(world.launch(request)))

    assert "call Agent once" in text
    assert world.code(request) == "success"


def test_a_changed_definition_gets_a_new_agent(world):
    """It changed after the question was offered to the idle one."""
    _, agent = reusing(world)
    request = next_question(world)
    world.define("terse", f"{REUSING}tools: [Read]\nreuse: true\n")

    _, said = world.send(request, agent)
    world.stop(world.start(world.launch(request)))

    assert "call Agent once with this instead" in said["permissionDecisionReason"]
    assert world.code(request) == "success"
