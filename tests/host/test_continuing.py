"""An agent that has answered is asked again, by the hooks alone."""

from __future__ import annotations

import pytest
from hookworld import GOOD

from bridge import CannotContinue
from bridge.store import idle_agents
from bridge.store.idle_agents import all_idle

# What it answers next; of the same words again there is a test of its own.
AGAIN = '{"status": "success", "summary": "again"}'
REUSING = "description: d\nprompt: Be short. {{ task }}\n"


def idle(world):
    """The agents that may be asked again."""
    with world.store.state() as state:
        return sorted(all_idle(state), key=lambda each: each.agent_id)


def offered(world, text="hi"):
    """What a prompt of the user's has the model told."""
    said = world.say("UserPromptSubmit", prompt=text)
    return said.get("hookSpecificOutput", {}).get("additionalContext", "")


def followed(world, earlier, prompt="And why?", **fields):
    """Ask on, and have it offered; the request and the offer."""
    request = world.submit(prompt, continues=earlier, **fields)
    return request, offered(world)


def asked_again(world, earlier, agent, words=AGAIN):
    """Ask on, and have the agent answer; the request."""
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)
    world.stop(agent, words)
    world.notice(agent, **{"tool-use-id": call})
    return request


def define(world, name, text):
    folder = world.home / ".hostbridge" / "agents"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (world.home / ".hostbridge").chmod(0o700)
    (folder / f"{name}.yaml").write_text(f"name: {name}\n{text}")


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
    assert response.continued.to_data() == {
        "agentId": agent,
        "first": earlier,
        "after": earlier,
        "question": 2,
    }


def test_question_after_question(world):
    earlier, agent = world.answered()

    second = asked_again(world, earlier, agent)
    third = asked_again(world, second, agent, GOOD)

    continued = world.response(third).continued
    assert (continued.first, continued.after, continued.question) == (
        earlier,
        second,
        3,
    )
    assert [each.request_id for each in idle(world)] == [third]


def test_each_question_is_charged_for_what_it_took(world):
    """The transcript holds the whole conversation."""
    earlier, _, agent = world.begin()
    world.took(agent, "m1", 100)
    world.stop(agent)
    world.notice(agent)
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)
    world.took(agent, "m2", 7)
    world.stop(agent, AGAIN)

    took = [world.response(each).usage for each in (earlier, request)]

    assert [(usage.input_tokens, usage.requests) for usage in took] == [
        (100, 1),
        (7, 1),
    ]


def test_an_invalid_answer_is_corrected(world):
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)

    said = world.stop(agent, "Well.")
    world.stop(agent, AGAIN)

    assert said["decision"] == "block"
    assert world.code(request) == "success"


def test_tool_calls_of_a_follow_up_are_its_own(world):
    """What it may do, and what was seen of it, belongs to the question at hand."""
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)

    allowed = world.use(agent)
    world.bridge.cancel(request)
    refused = world.use(agent)

    assert allowed == {}
    assert refused["continue"] is False
    assert world.code(request) == "cancelled"


def test_the_answer_before_is_no_answer(world):
    """The client repeats an agent's last words where it says nothing."""
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)

    said = world.stop(agent, GOOD)

    assert "could not use this answer" in said["reason"]
    assert world.code(request) is None


def test_the_same_answer_again_is_one(world):
    """That the agent has given it is in its transcript."""
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)
    world.says(agent, "msg_2", text=GOOD)

    world.stop(agent, GOOD)

    assert world.code(request) == "success"


def test_an_agent_that_is_gone_is_a_named_failure_at_once(world):
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)

    world.resume(call, agent, output, success=False, message="No transcript found")

    error = world.response(request).error
    assert error.code == "cannot_continue"
    assert error.message.endswith(": No transcript found")
    assert world.runs() == []


def test_a_message_that_another_hook_replaced(world):
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    output["updatedInput"]["message"] = "something else"

    world.resume(call, agent, output)

    assert world.code(request) == "prompt_replaced"


def test_a_message_of_which_no_hook_saw_the_end_must_be_in_the_transcript(world):
    """A hook that is killed lets the token itself through."""
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    world.send(request, agent)

    world.stop(agent, AGAIN)

    assert world.code(request) == "prompt_replaced"


def test_a_call_that_never_ran_is_a_failure_when_the_turn_ends(world):
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    world.send(request, agent)

    world.say("Stop", background_tasks=[])

    error = world.response(request).error
    assert error.code == "agent_error"
    assert "the SendMessage call did not run" in error.message


@pytest.mark.parametrize(
    ("status", "code"), [("killed", "agent_stopped"), ("failed", "agent_error")]
)
def test_an_end_without_an_answer(world, status, code):
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)

    world.notice(agent, status, **{"tool-use-id": call})

    assert world.code(request) == code
    assert idle(world) == []


def test_a_notice_about_the_answer_before_ends_nothing(world):
    """It may come late; its words are no answer to what is asked now."""
    earlier, first_call, agent = world.begin()
    world.stop(agent)
    world.notice(agent, **{"tool-use-id": first_call})
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)

    world.notice(agent, **{"tool-use-id": first_call, "result": GOOD})

    assert world.code(request) is None


def test_a_person_stops_it_by_the_description_that_the_client_has(world):
    """Which is that of the first call."""
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)

    described = f"hostbridge: a test [{earlier}]"
    stopped = f'Background agent "{described}" was stopped by the user.'
    world.say("UserPromptSubmit", prompt=stopped)

    assert world.code(request) == "agent_stopped"


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


def test_clear_ends_what_could_be_continued(world):
    """The client would find the agent, but with nothing that it knew."""
    earlier, _ = world.answered()
    request = world.submit("And?", continues=earlier)
    world.session = "session-2"
    world.say("SessionStart", source="clear")

    offered(world)

    assert idle(world) == []
    assert world.code(request) == "cannot_continue"


def test_the_end_of_a_session_fails_what_waits_for_its_agent(world):
    """With no session left, whoever waits for the answer sees to it."""
    earlier, _ = world.answered()
    request = world.submit("And?", continues=earlier)
    world.say("SessionEnd", reason="other")

    world.store.sweep(waiting=[request])

    assert world.code(request) == "cannot_continue"


def test_an_agent_that_somebody_else_continues_is_let_go(world):
    from hookworld import INSTALLED, run_hook

    from bridge.host.hook_table import HOOKS

    earlier, agent = world.answered()
    (hook,) = (each for each in HOOKS if each.event == "SubagentStart")
    world.kind = "local"
    world.say("UserPromptSubmit", prompt="hi")

    run_hook(hook, world.event("SubagentStart", agent_id=agent), INSTALLED)

    with pytest.raises(CannotContinue, match="is over"):
        world.submit("And?", continues=earlier)


def test_too_many_agents_are_not_kept(world, monkeypatch):
    monkeypatch.setattr(idle_agents, "MOST", 2)

    answered = [world.answered() for _ in range(3)]

    assert {each.request_id for each in idle(world)} == {
        request for request, _ in answered[1:]
    }


def refusal(world, earlier, **fields):
    """Why a follow-up is refused; nothing is submitted then."""
    before = len(world.store.waiting())
    with pytest.raises(CannotContinue) as raised:
        world.submit("And?", continues=earlier, **fields)
    assert len(world.store.waiting()) == before
    return raised.value.what


def test_error_no_valid_answer(world):
    request, _, agent = world.begin(max_attempts=1)
    world.stop(agent, None)
    world.notice(agent)

    assert refusal(world, request) == (
        f"request {request} has no valid answer (empty_answer)"
    )


def test_error_not_answered_yet(world):
    request = world.submit()

    assert refusal(world, request) == f"request {request} has not been answered yet"


def test_error_answered_by_hand(world):
    request = world.submit()
    world.bridge.respond(request, GOOD)

    assert refusal(world, request) == (
        f"request {request} was answered on route manual, which keeps no conversation; "
        "only an agent of an open session can be asked again"
    )


def test_error_another_route(world):
    request, _ = world.answered()

    assert refusal(world, request, route="claude") == (
        f"request {request} cannot be continued on route claude; its agent is in an "
        "open session"
    )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"agent": "Explore"}, "agent 'general-purpose' there, 'Explore' here"),
        ({"model": "haiku"}, "model None there, 'haiku' here"),
        ({"schema": {"type": "object"}}, "it was asked without a schema"),
    ],
    ids=["agent", "model", "schema"],
)
def test_error_another_kind(world, fields, why):
    request, _ = world.answered()

    assert refusal(world, request, **fields) == (
        f"request {request} was of another kind: {why}"
    )


def test_error_another_definition(world):
    define(world, "terse", REUSING)
    request, _ = world.answered(agent="terse")
    define(world, "terse", f"{REUSING}tools: [Bash]\n")

    assert refusal(world, request) == (
        f"request {request} was of another kind: the definition of agent 'terse' has "
        "changed since"
    )


def test_error_other_variables(world):
    """They may be rights: they are not inherited, but have to be the same."""
    define(world, "terse", f"{REUSING}default_variables: {{x: 1}}\n")
    request, _ = world.answered(agent="terse", variables={"x": 2})

    assert refusal(world, request) == (
        f"request {request} was of another kind: it has another value of the variable "
        "'x'"
    )
    assert world.submit("And?", continues=request, variables={"x": 2})


def test_error_an_earlier_question_of_the_conversation(world):
    earlier, agent = world.answered()
    later = asked_again(world, earlier, agent)

    assert refusal(world, earlier) == (
        f"request {earlier} is not the last one that its agent answered: that is "
        f"{later}"
    )


def test_error_being_continued(world):
    earlier, _ = world.answered()
    request, _ = followed(world, earlier)

    assert refusal(world, earlier) == (
        f"request {earlier} is being continued already, by {request}"
    )


def test_error_too_many_questions(world, monkeypatch):
    monkeypatch.setenv("BRIDGE_CONTINUE_QUESTIONS", "1")
    request, _ = world.answered()
    world.bridge.settings = world.bridge.settings.with_(continue_questions=1)

    assert "it has answered 1 questions" in refusal(world, request)


def test_error_too_old(world):
    request, _ = world.answered()
    world.pass_time(3_700)

    assert "and 3,600 s is the limit" in refusal(world, request)


def test_error_the_session_is_gone(world):
    request, _ = world.answered()
    world.say("SessionEnd", reason="other")

    assert "the session that holds its agent has ended" in refusal(world, request)


# Pooling: a definition that says `reuse`


def test_the_next_question_of_a_reusing_agent_goes_to_the_idle_one(world):
    define(world, "terse", f"{REUSING}reuse: true\n")
    earlier, agent = world.answered(agent="terse")

    request = world.submit("Next.", agent="terse")
    text = offered(world)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)
    world.stop(agent, AGAIN)

    assert f'"to":"{agent}"' in text
    assert world.response(request).continued.first == earlier


def test_without_reuse_each_question_gets_a_new_agent(world):
    define(world, "terse", REUSING)
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
    define(world, "terse", f"{REUSING}reuse: {bounds}\n")
    _, agent = world.answered(agent="terse")
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
    define(world, "terse", f"{REUSING}reuse: true\n")
    world.answered(agent="terse")

    world.submit("Next.", agent="terse", **fields)

    assert "call Agent once" in offered(world)


def test_two_questions_at_once_get_two_agents(world):
    define(world, "terse", f"{REUSING}reuse: true\n")
    world.answered(agent="terse")
    world.submit("One.", agent="terse")
    world.submit("Two.", agent="terse")

    text = offered(world)

    assert text.count("call SendMessage once") == text.count("call Agent once") == 1


def test_a_model_may_start_a_new_agent_all_the_same(world):
    """It need not continue, and the idle agent is free again."""
    define(world, "terse", f"{REUSING}reuse: true\n")
    _, agent = world.answered(agent="terse")
    request = world.submit("Next.", agent="terse")
    offered(world)

    call = world.launch(request)
    world.stop(world.start(call))

    assert world.response(request).continued is None
    assert agent in [each.agent_id for each in idle(world)]


def test_a_pooled_agent_that_is_gone_makes_room_for_a_new_one(world):
    define(world, "terse", f"{REUSING}reuse: true\n")
    _, agent = world.answered(agent="terse")
    request = world.submit("Next.", agent="terse")
    offered(world)
    call, output = world.send(request, agent)

    said = world.resume(call, agent, output, success=False, message="gone")
    text = said["hookSpecificOutput"]["additionalContext"]
    world.stop(world.start(world.launch(request)))

    assert "call Agent once" in text
    assert world.code(request) == "success"


def test_a_changed_definition_gets_a_new_agent(world):
    """It changed after the question was offered to the idle one."""
    define(world, "terse", f"{REUSING}reuse: true\n")
    _, agent = world.answered(agent="terse")
    request = world.submit("Next.", agent="terse")
    offered(world)
    define(world, "terse", f"{REUSING}tools: [Read]\nreuse: true\n")

    _, said = world.send(request, agent)
    world.stop(world.start(world.launch(request)))

    assert "call Agent once with this instead" in said["permissionDecisionReason"]
    assert world.code(request) == "success"
