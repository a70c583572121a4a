"""An agent that has answered is asked again, by the hooks alone."""

from followups import AGAIN, asked_again, followed, idle, offered, resumed
from hookworld import GOOD

from bridge.store import idle_agents


def test_a_follow_up_is_offered_as_a_message_to_its_agent(world):
    earlier, agent = world.answered()

    request, text = followed(world, earlier)

    call = f'{{"to":"{agent}","message":"bridge:{request}"}}'
    assert text == (
        "hostbridge: load SendMessage if you have not yet (ToolSearch, "
        f"select:SendMessage), then call SendMessage once with this:\n{call}"
    )


def test_the_message_becomes_the_whole_prompt(world):
    """With the form of the answer: the agent may have forgotten it."""
    earlier, agent = world.answered()
    request, _ = followed(world, earlier, "And why?")

    _, output = world.send(request, "another")

    sent = output["updatedInput"]
    assert output["permissionDecision"] == "allow"
    assert (sent["to"], sent["summary"]) == (agent, f"hostbridge: a test [{request}]")
    assert sent["message"].startswith("And why?")
    assert "JSON" in sent["message"]


def test_the_answer_is_the_follow_ups(world):
    earlier, agent = world.answered()

    request = asked_again(world, earlier, agent)

    response = world.response(request)
    assert response.success
    assert response.agent_id == agent
    told = {"agentId": agent, "first": earlier, "after": earlier, "question": 2}
    assert response.continued.to_data() == told


def test_question_after_question(world):
    earlier, agent = world.answered()

    second = asked_again(world, earlier, agent)
    third = asked_again(world, second, agent, GOOD)

    told = world.response(third).continued
    assert (told.first, told.after, told.question) == (earlier, second, 3)
    assert [each.request_id for each in idle(world)] == [third]


def test_each_question_is_charged_for_what_it_took(world):
    """The transcript holds the whole conversation."""
    earlier, _, agent = world.begin()
    world.took(agent, "m1", 100)
    world.stop(agent)
    world.notice(agent)
    request, _ = resumed(world, earlier, agent)
    world.took(agent, "m2", 7)
    world.stop(agent, AGAIN)

    took = [world.response(each).usage for each in (earlier, request)]

    assert [each.input_tokens for each in took] == [100, 7]
    assert [each.requests for each in took] == [1, 1]


def test_an_invalid_answer_is_corrected(world):
    earlier, agent = world.answered()
    request, _ = resumed(world, earlier, agent)

    said = world.stop(agent, "Well.")
    world.stop(agent, AGAIN)

    assert said["decision"] == "block"
    assert world.code(request) == "success"


def test_tool_calls_of_a_follow_up_are_its_own(world):
    """What it may do, and what was seen of it, belongs to the question at hand."""
    earlier, agent = world.answered()
    request, _ = resumed(world, earlier, agent)

    allowed = world.use(agent)
    world.bridge.cancel(request)
    refused = world.use(agent)

    assert allowed == {}
    assert refused["continue"] is False
    assert world.code(request) == "cancelled"


def test_the_answer_before_is_no_answer(world):
    """The client repeats an agent's last words where it says nothing."""
    earlier, agent = world.answered()
    request, _ = resumed(world, earlier, agent)

    said = world.stop(agent, GOOD)

    assert "could not use this answer" in said["reason"]
    assert world.code(request) is None


def test_the_same_answer_again_is_one(world):
    """That the agent has given it is in its transcript."""
    earlier, agent = world.answered()
    request, _ = resumed(world, earlier, agent)
    world.says(agent, "msg_2", text=GOOD)

    world.stop(agent, GOOD)

    assert world.code(request) == "success"


def test_a_follow_up_waits_until_the_client_is_done_with_its_agent(world):
    """A message to one that still ends would be answered who knows when."""
    earlier, call, agent = world.begin()
    world.stop(agent)

    _, before = followed(world, earlier)
    world.notice(agent, **{"tool-use-id": call})
    after = offered(world)

    assert before == ""
    assert agent in after


def test_agent_instead_of_send_message_is_refused(world):
    """A new agent would know nothing of what it is asked about."""
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)

    said = world.call_agent(f"bridge:{request}")

    call = f'{{"to":"{agent}","message":"bridge:{request}"}}'
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"] == (
        f"hostbridge: call SendMessage once with this instead:\n{call}"
    )
    assert world.code(request) is None


def test_send_message_instead_of_agent_is_refused(world):
    request = world.submit()
    offered(world)

    _, said = world.send(request, "a1")

    assert said["permissionDecision"] == "deny"
    assert "call Agent once with this instead" in said["permissionDecisionReason"]


def test_a_message_of_the_users_own_is_left_alone(world):
    said = world.say(
        "PreToolUse",
        tool_name="SendMessage",
        tool_input={"to": "a1", "message": "go on"},
        tool_use_id="toolu_x",
    )

    assert said == {}


def test_only_one_of_two_follow_ups_is_asked(world):
    """Never two questions at once; the second would hear more than its asker knows."""
    earlier, _ = world.answered()
    one = world.submit("one", continues=earlier)
    two = world.submit("two", continues=earlier)

    text = offered(world)

    assert one in text
    assert world.code(two) == "cannot_continue"
    assert world.code(one) is None


def test_too_many_agents_are_not_kept(world, monkeypatch):
    monkeypatch.setattr(idle_agents, "MOST", 2)

    _, second, third = (world.answered()[0] for _ in range(3))

    assert {each.request_id for each in idle(world)} == {second, third}
