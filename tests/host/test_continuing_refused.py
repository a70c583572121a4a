"""A follow-up that cannot be asked is refused, with the reason; nothing is asked."""

import pytest
from followups import REUSING, asked_again, followed
from hookworld import GOOD

from bridge import CannotContinue


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
    world.define("terse", REUSING)
    request, _ = world.answered(agent="terse")
    world.define("terse", f"{REUSING}tools: [Bash]\n")

    assert refusal(world, request) == (
        f"request {request} was of another kind: the definition of agent 'terse' has "
        "changed since"
    )


def test_error_other_variables(world):
    """They may be rights: they are not inherited, but have to be the same."""
    world.define("terse", f"{REUSING}default_variables: {{x: 1}}\n")
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
