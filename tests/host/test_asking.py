"""An agent asks back: the hook holds it, and later it is continued, or asked anew."""

import threading

import pytest
from askingworld import FORM, asked, asks, continued, dies_while_it_holds, ended_asking
from hookworld import running
from polling import wait_until

from bridge import InvalidRequest
from bridge.engine.view import question, view
from bridge.host import asking
from bridge.protocol.question import MOST
from bridge.protocol.status import Stage
from bridge.store import idle_agents

pytestmark = [pytest.mark.usefixtures("short_hold"), pytest.mark.slow]


def test_an_agent_is_told_how_to_ask_only_where_it_may(world):
    _, call, _ = asked(world)
    _, other, _ = world.begin()

    assert "hostbridge_question" in world.prompts[call]
    assert "hostbridge_question" not in world.prompts[other]


def test_a_reply_reaches_the_agent_in_the_same_turn(world, monkeypatch):
    monkeypatch.setattr(asking, "HOLD_S", 300)
    request, _, agent = asked(world)
    said: list[dict] = []
    hook = threading.Thread(target=lambda: said.append(world.stop(agent, asks())))
    hook.start()
    [question] = wait_until(world.bridge.questions)
    assert world.found(request).request.stage is Stage.ASKING

    world.bridge.reply(request, "red")
    hook.join()

    [output] = said
    assert output["decision"] == "block"
    assert '"red"' in output["reason"]
    assert (question.words, question.form) == ("Which colour?", FORM)
    assert world.found(request).request.stage is Stage.RUNNING
    assert world.bridge.questions() == []
    assert world.stop(agent) == {}
    assert world.code(request) == "success"


def test_without_a_reply_the_request_waits_and_holds_no_slot(world):
    request, agent = ended_asking(world)

    found = world.found(request)
    assert found.request.stage is Stage.ASKING
    assert found.request.claim is None
    assert world.store.claimed() == []
    assert world.say("UserPromptSubmit", prompt="hello") == {}
    assert world.code(request) is None
    assert agent


def test_the_same_agent_goes_on_when_the_reply_comes_later(world):
    request, agent = ended_asking(world)
    world.bridge.reply(request, "blue")

    offered = world.say("UserPromptSubmit", prompt="hello")
    call, output = world.send(request, agent)
    world.resume(call, agent, output)
    assert world.stop(agent) == {}

    assert "SendMessage" in offered["hookSpecificOutput"]["additionalContext"]
    message = output["updatedInput"]["message"]
    assert '"blue"' in message
    assert "Say hello." not in message
    assert world.code(request) == "success"
    assert world.response(request).agent_id == agent


def test_an_agent_that_goes_on_and_says_nothing_does_not_ask_again(world):
    """The client repeats its last words then: the question was replied to."""
    request, agent = ended_asking(world)
    world.bridge.reply(request, "blue")
    call, _, output = continued(world, request, agent)
    world.resume(call, agent, output)

    said = world.stop(agent, asks())

    assert "the last message was empty" in said["reason"]
    assert world.bridge.questions() == []


def test_an_agent_that_is_gone_is_asked_anew_with_question_and_reply(world):
    request, agent = ended_asking(world)
    world.bridge.reply(request, "blue")
    call, _, output = continued(world, request, agent)
    world.resume(call, agent, output, success=False, message="no such agent")

    world.say("UserPromptSubmit", prompt="hello")
    anew = world.launch(request)

    prompt = world.prompts[anew]
    assert prompt.startswith("Say hello.")
    assert "Which colour?" in prompt
    assert '"blue"' in prompt
    other = world.start(anew)
    assert world.stop(other) == {}
    assert world.code(request) == "success"


def test_where_the_session_was_cleared_a_new_agent_is_asked(world):
    request, _ = ended_asking(world)
    world.start_again()
    world.bridge.reply(request, "red")

    world.say("UserPromptSubmit", prompt="hello")

    assert '"red"' in world.prompts[world.launch(request)]


def test_a_question_of_a_wrong_form_is_corrected(world):
    request, _, agent = asked(world)

    told = [
        world.stop(agent, asks(words=" "))["reason"],
        world.stop(agent, asks(form={"type": "what"}))["reason"],
    ]

    assert "`hostbridge_question.words`: expected your question" in told[0]
    assert "`hostbridge_question.form`: $.type: " in told[1]
    assert world.bridge.questions() == []
    assert world.stop(agent) == {}
    assert world.code(request) == "success"


def test_where_no_question_is_allowed_it_is_an_answer_of_the_wrong_form(world):
    request, _, agent = world.begin()

    for _ in range(3):
        world.stop(agent, asks())

    assert world.code(request) == "schema_mismatch"


def test_after_three_questions_the_agent_is_told_to_answer(world):
    request, agent = ended_asking(world)
    for number in range(1, MOST + 1):
        world.bridge.reply(request, "red")
        call, message, output = continued(world, request, agent)
        world.resume(call, agent, output)
        assert ("ask nothing more" in message) == (number == MOST)
        said = world.stop(agent, asks(f"And number {number}?"))
        if number < MOST:
            world.notice(agent, **{"tool-use-id": call})

    assert "3 questions are the most" in said["reason"]
    assert world.stop(agent) == {}
    assert world.code(request) == "success"


def test_a_deadline_names_the_question(world):
    request, _ = ended_asking(world, timeout_s=60)

    world.set_clock(61)
    world.pass_time(61)
    response = world.response(request)

    assert (response.error.code, response.error.stage) == ("timeout", Stage.ASKING)
    assert response.error.message == (
        "no answer within 60 s: its agent had asked a question, and nobody had "
        "replied; question 1: Which colour?"
    )


def test_a_hook_that_is_killed_while_it_holds_loses_nothing(world, monkeypatch):
    """The client lets the agent end then; its notice comes as always."""
    request, call, agent = asked(world)
    dies_while_it_holds(world, agent, monkeypatch)
    assert world.found(request).request.claim is not None

    world.notice(agent, **{"tool-use-id": call, "result": asks()})

    found = world.found(request).request
    assert (found.claim, found.stage, found.asks.number) == (None, Stage.ASKING, 1)
    world.bridge.reply(request, "red")
    assert '"red"' in continued(world, request, agent)[1]


def test_a_reply_that_a_killed_hook_has_taken_is_told_later(world, monkeypatch):
    """Otherwise the question would be put to the asker twice."""
    request, call, agent = asked(world)
    dies_while_it_holds(world, agent, monkeypatch)
    world.bridge.reply(request, "red")

    world.notice(agent, **{"tool-use-id": call, "result": asks()})

    assert world.bridge.questions() == []
    assert '"red"' in continued(world, request, agent)[1]


def test_a_host_that_dies_leaves_the_question_to_the_next(world, monkeypatch):
    request, _, agent = asked(world)
    dies_while_it_holds(world, agent, monkeypatch)

    world.store.sweep(leaving=world.live()[0].host)

    assert [q.number for q in world.bridge.questions()] == [1]
    assert world.found(request).request.claim is None
    world.bridge.reply(request, "red")
    world.say("UserPromptSubmit", prompt="hello")
    assert '"red"' in world.prompts[world.launch(request)]


def test_an_agent_that_hands_over_its_question_goes_on_too(world):
    """In auto mode words come by SubagentHandback, and the agent is ended there."""
    request, call, agent = asked(world)
    handed = {"message": asks()}

    said = world.use(agent, "SubagentHandback", tool_input=handed)
    world.notice(agent, **{"tool-use-id": call})
    world.bridge.reply(request, "red")

    assert said["continue"] is False
    assert '"red"' in continued(world, request, agent)[1]


def test_stop_does_not_take_an_agent_that_asks_for_lost(world):
    request, agent = ended_asking(world)

    world.say("Stop", background_tasks=running())

    assert world.found(request).request.stage is Stage.ASKING
    assert agent


def test_another_question_does_not_get_the_agent_that_waits(world):
    """A definition's `reuse` gives an agent that has answered the next question."""
    request, agent = ended_asking(world)
    with world.store.state() as state:
        [idle] = idle_agents.all_idle(state)
    other = world.found(request).request.with_(request_id="other", asks=None)

    assert idle.agent_id == agent
    assert not idle_agents.is_of_kind(idle, other, idle.project)


def test_the_schema_may_not_name_the_key(world):
    schema = {"type": "object", "properties": {"hostbridge_question": {}}}

    with pytest.raises(InvalidRequest) as caught:
        world.submit(may_ask=True, schema=schema)

    assert "'hostbridge_question'" in caught.value.what


def test_an_agent_of_a_run_asks_the_person_of_the_run(world, begun):
    """As one that is blocked: the same checkpoint, and nothing in `questions/`."""
    world.define("asker", "allow_questions: true\n")
    run = begun('asker:"Paint it."')
    world.say("UserPromptSubmit", prompt="hello")
    [request] = [r.request_id for r in world.store.claimed()]
    agent = world.start(world.launch(request))

    world.stop(agent, asks())

    assert world.bridge.questions() == []
    assert world.code(request) == "agent_blocked"
    [(_, node, _)] = view(world.store, run).checkpoints()
    assert question(world.store, run, node) == "Which colour?\n- red\n- blue"
