"""A try that failed in the real client: the next one comes in its time, and counts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from claudeworld import ask, submits
from hostworld import HostWorld, code_of, host_world

from bridge.cli.show_text import StoryScreen
from bridge.testing.stage.models import agent_output, launching, obedient_model
from bridge.testing.stage.replies import error, reply

if TYPE_CHECKING:
    from bridge.testing.stage.api import Script
    from bridge.testing.stage.replies import Answer
    from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

BROKEN = error(500, "api_error", "Sorry")
SOON = error(429, "rate_limit_error", "Limit reached. Please try again in 2 seconds.")
LATE = error(429, "rate_limit_error", "Limit reached. Please try again in 2 hours.")
BAD = error(400, "invalid_request_error", "Not like that")


class Tries:
    """What the agents of a session come to, one after the other; the last again."""

    def __init__(self, *answers: Answer) -> None:
        self._left = list(answers)
        self._lock = threading.Lock()
        self.begun: set[str | None] = set()

    def model(self) -> Script:
        return obedient_model(self._answers, main=launching(again=True))

    def _answers(self, _prompt: str, request: ApiRequest) -> Answer:
        with self._lock:
            agent = request.agent_id
            if agent not in self.begun and self.begun and len(self._left) > 1:
                self._left.pop(0)
            self.begun.add(agent)
            return self._left[0]


def shown(world: HostWorld, request: str) -> str:
    """What `hostbridge show` says."""
    story = world.bridge.story(request)
    screen = StoryScreen(story, now_ms=world.store.now_ms())
    return "\n".join(map(str, screen.lines()))


def codes(world: HostWorld, request: str) -> list[str]:
    found = world.bridge.status(request).request
    assert found is not None
    return [each.code for each in found.failures]


def test_an_api_error_then_an_answer(tmp_path):
    """Nobody waits for the answer but by looking at the file, and the host is idle."""
    tries = Tries(BROKEN, agent_output())

    with host_world(tmp_path, tries.model()) as world:
        request = world.submit()
        with world.stream():
            response = world.ended(request)
            world.wait_until_forgotten()

    assert response.success, response
    assert codes(world, request) == ["agent_error"]
    assert len(tries.begun) == 2
    assert "try 1  agent_error: " in shown(world, request)


def test_a_limit_twice_then_an_answer(tmp_path):
    tries = Tries(SOON, SOON, agent_output())

    with host_world(tmp_path, tries.model()) as world:
        request = world.submit(max_attempts=1)
        with world.stream():
            response = world.ended(request)
            world.wait_until_forgotten()

    assert response.success, response
    assert codes(world, request) == ["quota", "quota"]
    assert len(tries.begun) == 3
    assert world.main_words().count("try again in 2 seconds") == 0


def test_a_limit_that_outlasts_the_deadline_is_no_wait(tmp_path):
    tries = Tries(LATE, agent_output())

    with host_world(tmp_path, tries.model()) as world:
        request = world.submit(timeout_s=600)
        with world.stream():
            response = world.ended(request)

    assert code_of(response) == "quota"
    assert "after the deadline" in response.error.message
    assert len(tries.begun) == 1


def test_what_cannot_pass_is_not_tried_again(tmp_path):
    tries = Tries(BAD, agent_output())

    with host_world(tmp_path, tries.model()) as world:
        request = world.submit(max_attempts=5)
        with world.stream():
            response = world.ended(request)

    assert code_of(response) == "agent_error"
    assert codes(world, request) == []
    assert len(tries.begun) == 1


def test_a_limit_of_claude_p_is_waited_for_by_who_asked(tmp_path):
    """By its own process: no session is open, and the command goes on to wait."""
    left = [SOON, submits({"status": "success", "summary": "late"})]

    def model(_request: ApiRequest) -> Answer:
        return left.pop(0) if left else reply("done")

    with host_world(tmp_path, model) as world:
        ran = ask(world, "Say hi.")

    assert ran.returncode == 0, ran
    assert '"summary": "late"' in ran.stdout or '"summary":"late"' in ran.stdout
