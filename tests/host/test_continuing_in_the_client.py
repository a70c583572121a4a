"""An agent that has answered is asked again, in the real client."""

import json
import re

import pytest
from followups import idle
from hostworld import HostWorld, bash, code_of, host_world, named
from polling import wait_until

from bridge import CannotContinue
from bridge.store import idle_agents
from bridge.testing.stage.models import answering, launching, obedient_model
from bridge.testing.stage.replies import Answer, error, reply, tool_use
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
    questions = [each.continued and each.continued.question for each in responses]
    assert questions == [None, 2, 3]
    assert "ZEBRA" not in world.main_words()
    assert "<task-id>" not in world.main_words()


def test_what_goes_to_an_idle_agent(tmp_path):
    """A question with another schema, and one of a definition that reuses its agent.

    The form is told again, and a wrong answer is sent back. What the client does not
    know any more it says, and the asker is told at once.
    """
    schema = {"type": "object", "required": ["word"]}
    other = {"type": "object", "required": ["letters"]}
    turns = (reply('{"word": "ZEBRA"}'), reply("Five."), reply('{"letters": 5}'))

    def answers(prompt, request):
        is_formed = named("formed") in prompt
        return (answering(*turns) if is_formed else remembering)(prompt, request)

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.define("terse", REUSING)
        with world.stream():
            first = first_answer(world, named("formed"), schema=schema)
            second = world.submit("How long?", continues=first, schema=other)
            formed = world.ended(second)
            reused = first_answer(world, agent="terse")
            third = world.submit("Which word?", agent="terse")
            said = summary_of(world, third)
            world.wait_until_forgotten()
            agent = next(a for a in idle(world) if a.agent_id == formed.agent_id)
            with world.store.state() as state:
                idle_agents.forget(state, agent.agent_id)
                idle_agents.note(state, agent.with_(agent_id="a0123456789abcdef"))
            unknown = world.ended(world.submit("And?", continues=second))
        continued = world.ended(third).continued

    assert formed.parsed_output == {"letters": 5}
    assert world.bridge.status(second).request.claim.corrections == 1
    assert said == "it was ZEBRA"
    assert continued.first == reused
    assert code_of(unknown) == "cannot_continue"
    assert "could not be resumed" in unknown.error.message


def stopping_at_once(request: ApiRequest) -> Answer:
    """As `stopping`, also where the prompt comes in the middle of a turn."""
    found = re.search(r"\bstop (a[0-9a-f]{9,})", request.heard_text)
    if found and not any(call["name"] == "TaskStop" for call in request.own_calls):
        return reply(tool_use("TaskStop", {"task_id": found[1]}))
    return launching()(request)


SLOW = reply("late", delay_s=600)
ENDS = {
    # what the agent does with its second question, and how the request ends
    "api error": (error(400, "invalid_request_error", "no"), "agent_error"),
    "no word": (reply(), "empty_answer"),
    "stopped": (SLOW, "agent_stopped"),
    "cancelled": (bash("sleep 1"), "cancelled"),
}


def test_every_end_of_a_follow_up_is_a_typed_response(tmp_path):
    """And then nothing is to be continued: the last question has no valid answer."""

    def answers(prompt, request):
        turn = next(turn for end, (turn, _) in ENDS.items() if named(end) in prompt)
        return answering(reply(GOOD), turn)(prompt, request)

    model = obedient_model(answers, main=stopping_at_once)
    with host_world(tmp_path, model) as world:
        world.allow("Bash")
        with world.stream() as session:
            first = [world.submit(named(end)) for end in ENDS]
            for request in first:
                assert world.ended(request).success
            world.wait_until_forgotten()
            second = {
                end: world.submit(f"And {end}?", continues=request)
                for end, request in zip(ENDS, first, strict=True)
            }
            runs = {end: world.wait_for_run(each) for end, each in second.items()}
            for end in ("stopped", "cancelled"):
                world.api.wait_for(
                    lambda r, e=end: bool(r.agent_id) and r.contains(f"And {e}?")
                )
            session.send(f"stop {runs['stopped'].agent_id}")
            wait_until(lambda: world.stage_of(second["cancelled"]) == "running")
            world.bridge.cancel(second["cancelled"])
            codes = {end: code_of(world.ended(each)) for end, each in second.items()}
            world.wait_until_forgotten()
            for each in second.values():
                with pytest.raises(CannotContinue, match="no valid answer"):
                    world.submit("And?", continues=each)
        left = idle(world)

    assert codes == {end: code for end, (_, code) in ENDS.items()}
    assert left == []


def test_grants_of_a_follow_up_and_none_after_clear(tmp_path):
    """Its calls are checked and its dialogs answered, as those of a new agent.

    After /clear the client would resume it, with nothing of what it knew.
    """
    turns = (
        reply(GOOD),
        bash("touch granted"),
        reply(tool_use("Write", {"file_path": "refused", "content": "x"})),
        reply(GOOD),
    )
    with host_world(tmp_path, obedient_model(answering(*turns))) as world:
        world.define("worker", "description: d\nallow: ['Bash(touch *)']\n")
        with world.terminal() as terminal:
            first = first_answer(world, agent="worker")
            second = first_answer(world, "Do it.", continues=first)
            screen = terminal.screen()
            terminal.submit("/clear")
            wait_until(lambda: not idle(world), what="letting the agent go")
            with pytest.raises(CannotContinue, match="was cleared"):
                world.submit("Which word?", continues=second)
        made = {each.name for each in world.stage.project.iterdir()}

    assert made & {"granted", "refused"} == {"granted"}
    assert "Do you want" not in screen
