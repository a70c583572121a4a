"""What ends the wait for an agent that a rule chose, in the real client."""

import json
import threading
import time

import pytest
from hostworld import host_world
from polling import wait_until
from ruleworld import TWO, calling, define_rules

from bridge.testing.stage.models import launching, obedient_model, offered_tokens
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host


def slow(seconds, until=None):
    """An agent that answers so much later, or when something has happened."""

    def answers(_prompt, _request):
        if until is not None:
            until.wait(300)
        output = {"status": "success", "summary": "done at last", "evidence": []}
        return reply(json.dumps(output), delay_s=seconds)

    return answers


def test_escape_ends_the_wait_and_the_answer_still_comes(tmp_path):
    """The agent goes on; its notice carries what the turn no longer waits for."""
    main = calling("pytest")
    is_seen = threading.Event()
    with host_world(tmp_path, obedient_model(slow(0, is_seen), main=main)) as world:
        define_rules(world, TWO)
        world.allow("Bash")
        with world.terminal() as terminal:
            terminal.submit("go")
            turn = world.wait_for_turns(3)[2]
            assert turn is not None
            wait_until(lambda: world.api.turns("subagent"), what="the agent")
            time.sleep(2)
            terminal.key("Escape")
            time.sleep(2)
            before = len(world.api.turns("main"))
            (request,) = [r.request_id for r in world.store.claimed()]
            is_seen.set()
            response = world.ended(request)
            terminal.submit("and now?")
            wait_until(lambda: "done at last" in world.main_words(), what="the answer")
            history = terminal.history()

    assert response.success
    assert before == 3, history


def test_an_agent_that_the_user_stops_is_not_waited_for(tmp_path):
    """The turn goes on with why, and the call, made again, runs."""
    main = calling("touch made # pytest", "touch made # pytest")
    with host_world(tmp_path, obedient_model(slow(600), main=main)) as world:
        define_rules(world, SLOW)
        world.allow("Bash")
        world.define("checker", "prompt: check\n")
        with world.terminal() as terminal:
            terminal.submit("go")
            wait_until(lambda: world.api.turns("subagent"), what="the agent")
            time.sleep(2)
            for _ in range(2):
                terminal.key("C-x")
                time.sleep(0.2)
                terminal.key("C-k")
                time.sleep(0.5)
            wait_until((world.stage.project / "made").exists, what="the command")
            words = world.main_words()
        (response,) = world.responses()

    assert response.error.code == "agent_stopped"
    assert "checker did not answer (agent_stopped)" in words


def test_a_session_that_is_killed_in_the_wait_goes_on_when_it_is_resumed(tmp_path):
    """The work is offered again, and its answer comes; nothing is left of the wait."""
    revived = threading.Event()
    obeys, calls = launching(again=True), calling("pytest")

    def main(request):
        return (obeys if offered_tokens(request) else calls)(request)

    def answers(prompt, request):
        return slow(1 if revived.is_set() else 600)(prompt, request)

    with host_world(tmp_path, obedient_model(answers, main=main)) as world:
        define_rules(world, TWO)
        world.allow("Bash")
        with world.stream() as session:
            session.send("go")
            wait_until(lambda: world.api.turns("subagent"), what="the agent")
            wait_until(lambda: waits(world), what="the wait")
            (dead,) = world.live()
            (request,) = [each.request_id for each in world.store.claimed()]
            session.kill()
            revived.set()
            args = ["--resume", dead.session_id]
            with world.stream(args=args, greet=False) as resumed:
                resumed.send("and now?")
                response = world.ended(request)
                wait_until(
                    lambda: "done at last" in world.main_words(), what="the answer"
                )
                world.wait_until_forgotten()
                wait_until(lambda: not waits(world), what="the end of the wait")
                (now,) = world.live()

    assert response.success
    assert (now.session_id, now.host == dead.host) == (dead.session_id, False)


def waits(world):
    """The notes of turns that wait."""
    folder = world.store.place.state / "agents"
    return [*folder.glob("*.wait"), *folder.glob("*.told")]


SLOW = """
on_before_tool:
  - when: '"pytest" in command'
    spawn_agent: {agent: checker, prompt: check}
"""
