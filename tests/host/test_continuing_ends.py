"""How a follow-up ends without an answer, and what ends all that could follow."""

import pytest
from followups import AGAIN, followed, idle, offered, resumed
from hookprocesses import run_hook
from hookworld import GOOD

from bridge import CannotContinue
from bridge.host.hook_table import HOOKS

pytestmark = pytest.mark.slow


def sent(world):
    """A follow-up, and the call that sends it to its agent."""
    earlier, agent = world.answered()
    request, _ = followed(world, earlier)
    return request, agent, *world.send(request, agent)


def test_an_agent_that_is_gone_is_a_named_failure_at_once(world):
    request, agent, call, output = sent(world)

    world.resume(call, agent, output, success=False, message="No transcript found")

    error = world.response(request).error
    assert error.code == "cannot_continue"
    assert error.message.endswith(": No transcript found")
    assert world.runs() == []


def test_a_message_that_another_hook_replaced(world):
    request, agent, call, output = sent(world)
    output["updatedInput"]["message"] = "something else"

    world.resume(call, agent, output)

    assert world.code(request) == "prompt_replaced"


def test_a_message_of_which_no_hook_saw_the_end_must_be_in_the_transcript(world):
    """A hook that is killed lets the token itself through."""
    request, agent, *_ = sent(world)

    world.stop(agent, AGAIN)

    assert world.code(request) == "prompt_replaced"


def test_a_call_that_never_ran_is_a_failure_when_the_turn_ends(world):
    request, *_ = sent(world)

    world.say("Stop", background_tasks=[])

    error = world.response(request).error
    assert error.code == "agent_error"
    assert "the SendMessage call did not run" in error.message


@pytest.mark.parametrize(
    ("status", "code"), [("killed", "agent_stopped"), ("failed", "agent_error")]
)
def test_an_end_without_an_answer(world, status, code):
    earlier, agent = world.answered()
    request, call = resumed(world, earlier, agent)

    world.notice(agent, status, **{"tool-use-id": call})

    assert world.code(request) == code
    assert idle(world) == []


def test_a_notice_about_the_answer_before_ends_nothing(world):
    """It may come late; its words are no answer to what is asked now."""
    earlier, first_call, agent = world.begin()
    world.stop(agent)
    world.notice(agent, **{"tool-use-id": first_call})
    request, _ = resumed(world, earlier, agent)

    world.notice(agent, **{"tool-use-id": first_call, "result": GOOD})

    assert world.code(request) is None


def test_a_person_stops_it_by_the_description_that_the_client_has(world):
    """Which is that of the first call."""
    earlier, agent = world.answered()
    request, _ = resumed(world, earlier, agent)

    described = f"hostbridge: a test [{earlier}]"
    stopped = f'Background agent "{described}" was stopped by the user.'
    world.say("UserPromptSubmit", prompt=stopped)

    assert world.code(request) == "agent_stopped"


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
    earlier, agent = world.answered()
    (hook,) = (each for each in HOOKS if each.event == "SubagentStart")
    world.kind = "local"
    world.say("UserPromptSubmit", prompt="hi")

    run_hook(hook, world.event("SubagentStart", agent_id=agent))

    with pytest.raises(CannotContinue, match="is over"):
        world.submit("And?", continues=earlier)
