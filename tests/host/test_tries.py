"""A try that failed in a session: the next one, in its time, and what the user sees."""

from typing import Any

import pytest
from hookworld import GOOD, HookWorld

from bridge.host import after_hook
from bridge.protocol.ids import check_id
from bridge.protocol.request import Request
from bridge.store import wakeups

LIMIT = "You've hit your session limit · resets in 2 hours"


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Nobody stays behind to wake the session."""
    monkeypatch.setattr(after_hook, "SOON_S", -1.0)


def waiting(world: HookWorld, request: str) -> Request:
    (found,) = [
        each
        for name in world.store.waiting()
        if name == request and (each := world.store.find_unfinished(name))
    ]
    return found


def api_error(world: HookWorld, agent: str = "", **fields: str) -> Any:
    """Have the client report that the model behind an agent, or the host, failed."""
    fields.setdefault("error", "server_error")
    more = {"agent_id": agent} if agent else {}
    return world.say("StopFailure", **fields, **more)


def pass_pause(world: HookWorld, request: str) -> None:
    """Let the time pass that the request waits for."""
    left_ms = (waiting(world, request).due_ms or 0) - world.store.now_ms()
    world.set_clock(left_ms / 1000 + 0.01)
    world.pass_time(left_ms / 1000 + 0.01)


def test_an_api_error_is_followed_by_another_try(world):
    request, agent = world.working(timeout_s=600)

    line = api_error(world, agent)["systemMessage"]
    at_once = world.say("UserPromptSubmit", prompt="go on")
    pass_pause(world, request)
    world.say("UserPromptSubmit", prompt="go on")
    second = world.start(world.launch(request))
    world.stop(second, GOOD)

    assert line.startswith(f"hostbridge: {request}: pause before try 2 of 2, until ")
    assert at_once == {}
    assert world.code(request) == "success"
    done = world.found(request).request
    assert [(each.code, each.attempt) for each in done.failures] == [("agent_error", 1)]


def test_a_limit_of_the_plan_spends_no_try(world):
    request, agent = world.working(timeout_s=86_400, max_attempts=1)

    for _ in range(3):
        api_error(world, agent, error="rate_limit", last_assistant_message=LIMIT)
        paused = waiting(world, request)
        assert (paused.due_ms or 0) - world.store.now_ms() > 7_000_000
        pass_pause(world, request)
        world.say("UserPromptSubmit", prompt="go on")
        agent = world.start(world.launch(request))
    world.stop(agent, GOOD)

    assert world.code(request) == "success"
    done = world.found(request).request
    assert [each.code for each in done.failures] == ["quota"] * 3
    assert done.attempt == 0


@pytest.mark.parametrize(
    ("error", "details", "code"),
    [
        ("server_error", "", "agent_error"),
        ("invalid_request", LIMIT, "agent_error"),
        ("unknown", "", "agent_error"),
        ("unknown", LIMIT, "quota"),
        ("rate_limit", "", "quota"),
    ],
)
def test_the_kind_that_the_client_names_makes_a_limit_and_no_words(
    world, error, details, code
):
    request, agent = world.working(max_attempts=1, wait_quota=False)
    words = "The rate_limit table is written. Usage limit reached; try again in 5 days"
    more = {"error_details": details} if details else {}

    api_error(world, agent, error=error, last_assistant_message=words, **more)

    assert world.code(request) == code


def test_who_does_not_wait_for_a_limit_fails_at_once(world):
    request, agent = world.working(wait_quota=False)

    api_error(world, agent, error="rate_limit", last_assistant_message=LIMIT)

    assert world.code(request) == "quota"


def test_a_limit_beyond_the_deadline_is_told_at_once(world):
    request, agent = world.working(timeout_s=600)

    api_error(world, agent, error="rate_limit", last_assistant_message=LIMIT)

    assert world.code(request) == "quota"
    assert "after the deadline" in world.response(request).error.message


def test_an_offer_that_met_a_limit_of_the_main_thread_spends_nothing(world):
    """Nobody declined it, and the same session has it again when the limit is over."""
    request = world.submit(timeout_s=86_400)
    world.say("UserPromptSubmit", prompt="hello")

    api_error(world, error="rate_limit", last_assistant_message=LIMIT)

    paused = waiting(world, request)
    assert (paused.attempt, paused.declined_by) == (0, ())
    pass_pause(world, request)
    world.say("UserPromptSubmit", prompt="hello")
    world.stop(world.start(world.launch(request)), GOOD)
    assert world.code(request) == "success"


@pytest.mark.parametrize(
    ("words", "code"), [(None, "empty_answer"), ("I am sorry", "no_json")]
)
def test_an_empty_answer_is_tried_again_and_prose_is_not(world, words, code):
    """Prose was corrected twice already, and would be prose again."""
    request, agent = world.working(timeout_s=600)

    for _ in range(3):
        world.stop(agent, words)

    assert world.code(request) == (None if code == "empty_answer" else code)


def test_an_agent_that_a_person_stopped_is_not_tried_again(world):
    request, agent = world.working(timeout_s=600)

    world.notice(agent, status="killed")

    assert world.code(request) == "agent_stopped"


def test_what_the_agent_of_a_failed_try_has_started_is_stopped(world):
    """While the next try waits, and while it runs, whose own agents may go on."""
    request, agent = world.working(timeout_s=600)
    nested = world.nest(agent)
    world.use(nested)
    api_error(world, agent)

    waiting_still = world.use(nested)
    pass_pause(world, request)
    world.say("UserPromptSubmit", prompt="go on")
    second = world.start(world.launch(request))
    world.use(second)
    below = world.nest(second)

    stopped = "hostbridge: this try has failed; stop working."
    for said in (waiting_still, world.use(nested)):
        assert said["hookSpecificOutput"]["permissionDecisionReason"] == stopped
        assert said["continue"] is False
    assert [world.use(each) for each in (second, below)] == [{}, {}]


def test_a_late_valid_answer_of_the_first_try_counts_while_the_next_one_waits(world):
    request, agent = world.working(timeout_s=600)
    api_error(world, agent)
    assert waiting(world, request).failures

    world.stop(agent, GOOD)

    assert world.code(request) == "success"


def test_a_late_invalid_answer_of_the_first_try_changes_nothing(world):
    request, agent = world.working(timeout_s=600)
    api_error(world, agent)
    before = waiting(world, request)

    world.stop(agent, "Well.")

    assert waiting(world, request) == before
    assert [each["rawOutput"] for each in world.store.evidence(request)] == ["Well."]


def test_a_call_that_a_rule_turned_into_a_request_has_one_try(world):
    """Nobody but its caller can start the agent, and the caller waits to be told."""
    from bridge.store.tool_calls import note_handover

    request, agent = world.working(timeout_s=600)
    note_handover(world.store, world.session, "toolu_x", request)

    api_error(world, agent)

    assert world.code(request) == "agent_error"


def test_the_session_is_woken_when_the_next_try_may_begin(world, monkeypatch):
    """The program that asked may not wait, and the session may be idle."""
    monkeypatch.setattr(after_hook, "SOON_S", 18.0)
    slept: list[float] = []

    def pause(seconds):
        slept.append(seconds)
        (asked,) = world.bridge.overview().requests
        found = world.store.find_unfinished(check_id(asked.request_id))
        assert world.store.now_ms() + seconds * 1000 >= found.due_ms

    monkeypatch.setattr(after_hook.wake_when_due, "__kwdefaults__", {"pause": pause})
    (session,) = world.live()
    request, agent = world.working(timeout_s=600)
    wakeups.clear(world.store, session.host)

    api_error(world, agent)

    assert slept[-1] <= 1.25
    assert wakeups.clear(world.store, session.host)
    assert waiting(world, request)


def test_nobody_stays_behind_for_a_long_pause(world, monkeypatch):
    monkeypatch.setattr(after_hook, "SOON_S", 18.0)
    slept: list[float] = []
    monkeypatch.setattr(
        after_hook.wake_when_due, "__kwdefaults__", {"pause": slept.append}
    )
    _, agent = world.working(timeout_s=86_400)

    api_error(world, agent, error="rate_limit", last_assistant_message=LIMIT)

    assert slept == []
