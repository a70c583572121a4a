"""An agent that has answered is asked again, in the real client."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from followups import idle
from hostworld import HostWorld, bash, code_of, host_world
from polling import wait_until

from bridge import CannotContinue
from bridge.store import idle_agents
from bridge.testing.stage.models import answering, launching, obedient_model
from bridge.testing.stage.replies import error, reply, tool_use

if TYPE_CHECKING:
    from bridge.testing.stage.replies import Answer
    from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

PLANTED = "Remember the word ZEBRA."
GOOD = '{"status": "success", "summary": "s"}'
REUSING = "description: d\nprompt: Be short. {{ task }}\nreuse: true\n"


def remembering(_prompt: str, request: ApiRequest) -> Answer:
    """A subagent that tells whether the word was ever said to it."""
    knows = "ZEBRA" in json.dumps(request.messages)
    summary = "it was ZEBRA" if knows else "no idea"
    return reply(json.dumps({"status": "success", "summary": summary}))


def summary_of(world: HostWorld, request: str) -> str:
    parsed = world.ended(request).parsed_output
    return str(parsed["summary"])


def first_answer(world: HostWorld, prompt: str = PLANTED, **fields: object) -> str:
    """Ask, and wait until the client is done with the agent that has answered."""
    request = world.submit(prompt, **fields)
    assert world.ended(request).parsed_output is not None
    world.wait_until_forgotten()
    return request


@pytest.mark.parametrize("how", ["default", "auto", "terminal"])
def test_a_follow_up_knows_what_was_said_before(tmp_path, how):
    """A new agent does not. The main thread hears none of it, either way."""
    with host_world(tmp_path, obedient_model(remembering)) as world:
        with world.opened(how):
            first = first_answer(world)
            second = first_answer(world, "Which word was it?", continues=first)
            third = world.submit("And now?", continues=second)
            said = [summary_of(world, each) for each in (second, third)]
            new = summary_of(world, world.submit("Which word was it?"))
            world.wait_until_forgotten()
        responses = [world.ended(each) for each in (first, second, third)]

    assert said == ["it was ZEBRA"] * 2
    assert new == "no idea"
    assert len({each.agent_id for each in responses}) == 1
    assert [each.continued and each.continued.question for each in responses] == [
        None,
        2,
        3,
    ]
    assert "ZEBRA" not in world.main_words()
    assert "<task-id>" not in world.main_words()


def test_a_follow_up_is_held_to_its_own_schema(tmp_path):
    """The form is told again, and a wrong answer is sent back."""
    schema = {"type": "object", "required": ["word"]}
    other = {"type": "object", "required": ["letters"]}
    turns = (reply('{"word": "ZEBRA"}'), reply("Five."), reply('{"letters": 5}'))
    with host_world(tmp_path, obedient_model(answering(*turns))) as world:
        with world.stream():
            first = first_answer(world, schema=schema)
            second = world.submit("How long?", continues=first, schema=other)
            response = world.ended(second)

    assert response.parsed_output == {"letters": 5}
    assert world.bridge.status(second).request.claim.corrections == 1


def test_a_question_of_a_reusing_definition_goes_to_the_idle_agent(tmp_path):
    with host_world(tmp_path, obedient_model(remembering)) as world:
        world.define("terse", REUSING)
        with world.stream():
            first = first_answer(world, agent="terse")
            second = world.submit("Which word?", agent="terse")
            said = summary_of(world, second)
        continued = world.ended(second).continued

    assert said == "it was ZEBRA"
    assert continued.first == first


def stopping_at_once(request: ApiRequest) -> Answer:
    """As `stopping`, also where the prompt comes in the middle of a turn."""
    named = re.search(r"\bstop (a[0-9a-f]{9,})", request.heard_text)
    if named and not any(call["name"] == "TaskStop" for call in request.own_calls):
        return reply(tool_use("TaskStop", {"task_id": named[1]}))
    return launching()(request)


SLOW = reply("late", delay_s=600)
ENDS = {
    # what the agent does with its second question, and how the request ends
    "api error": (error(400, "invalid_request_error", "no"), "agent_error"),
    "no word": (reply(), "empty_answer"),
    "stopped": (SLOW, "agent_stopped"),
    "cancelled": (bash("sleep 1"), "cancelled"),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_of_a_follow_up_is_a_typed_response(tmp_path, end):
    """And then nothing is to be continued: the last question has no valid answer."""
    turn, code = ENDS[end]
    turns = (reply(GOOD), turn)
    model = obedient_model(answering(*turns), main=stopping_at_once)
    with host_world(tmp_path, model) as world:
        world.allow("Bash")
        with world.stream() as session:
            first = first_answer(world)
            second = world.submit("And?", continues=first)
            run = world.wait_for_run(second)
            world.api.wait_for(lambda r: bool(r.agent_id) and r.contains("And?"))
            if end == "stopped":
                session.send(f"stop {run.agent_id}")
            elif end == "cancelled":
                wait_until(lambda: world.stage_of(second) == "running")
                world.bridge.cancel(second)
            response = world.ended(second)
            world.wait_until_forgotten()
            with pytest.raises(CannotContinue, match="no valid answer"):
                world.submit("And?", continues=second)
        left = idle(world)

    assert code_of(response) == code
    assert left == []


def test_an_agent_that_the_client_does_not_know(tmp_path):
    """The client says so, and the asker is told at once."""
    with host_world(tmp_path, obedient_model(remembering)) as world:
        with world.stream():
            first = first_answer(world)
            (agent,) = idle(world)
            with world.store.state() as state:
                idle_agents.forget(state, agent.agent_id)
                idle_agents.note(state, agent.with_(agent_id="a0123456789abcdef"))
            response = world.ended(world.submit("And?", continues=first))

    assert code_of(response) == "cannot_continue"
    assert "could not be resumed" in response.error.message


def test_after_clear_nothing_is_continued(tmp_path):
    """The client would resume the agent, with nothing of what it knew."""
    with host_world(tmp_path, obedient_model(remembering)) as world:
        with world.terminal() as terminal:
            first = first_answer(world)
            terminal.submit("/clear")
            wait_until(lambda: not idle(world), what="letting the agent go")
            with pytest.raises(CannotContinue, match="was cleared"):
                world.submit("Which word?", continues=first)


def test_a_definition_grants_the_same_to_a_follow_up(tmp_path):
    """Its calls are checked and its dialogs answered, as those of a new agent."""
    turns = (
        reply(GOOD),
        bash("touch granted"),
        tool_use("Write", {"file_path": "refused", "content": "x"}),
        reply(GOOD),
    )
    script = answering(*(reply(t) if not hasattr(t, "blocks") else t for t in turns))
    with host_world(tmp_path, obedient_model(script, main=launching())) as world:
        world.define("worker", "description: d\nallow: ['Bash(touch *)']\n")
        with world.terminal() as terminal:
            first = first_answer(world, agent="worker")
            second = world.ended(world.submit("Do it.", continues=first))
            screen = terminal.screen()
        made = {each.name for each in world.stage.project.iterdir()}

    assert second.success
    assert made & {"granted", "refused"} == {"granted"}
    assert "Do you want" not in screen
