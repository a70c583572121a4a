"""A try that failed in the real client: the next one comes in its time, and counts."""

import threading
from typing import Any

import pytest
from claudeworld import ask, submits
from hostworld import HostWorld, code_of, host_world, named

from bridge.cli.records.show_text import StoryScreen
from bridge.testing.stage.models import agent_output, launching, obedient_model
from bridge.testing.stage.replies import Answer, error, reply
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

BROKEN = error(500, "api_error", "Sorry")
SOON = error(429, "rate_limit_error", "Limit reached. Please try again in 2 seconds.")
LATE = error(429, "rate_limit_error", "Limit reached. Please try again in 2 hours.")
BAD = error(400, "invalid_request_error", "Not like that")


TRIES: dict[str, tuple[dict[str, Any], list[Answer]]] = {
    # how it is asked, and what its agents come to, one after the other; the last again
    "an error": ({}, [BROKEN, agent_output()]),
    "limits": ({"max_attempts": 1}, [SOON, SOON, agent_output()]),
    "too late": ({"timeout_s": 600}, [LATE, agent_output()]),
    "bad": ({"max_attempts": 5}, [BAD, agent_output()]),
}


class Tries:
    """What the agents of each request come to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.begun: dict[str, list[str | None]] = {name: [] for name in TRIES}

    def answers(self, prompt: str, request: ApiRequest) -> Answer:
        name = next(name for name in TRIES if named(name) in prompt)
        _, answers = TRIES[name]
        with self._lock:
            begun = self.begun[name]
            if request.agent_id not in begun:
                begun.append(request.agent_id)
            tried = begun.index(request.agent_id)
        return answers[min(tried, len(answers) - 1)]


def shown(world: HostWorld, request: str) -> str:
    """What `hostbridge show` says."""
    story = world.bridge.story(request)
    screen = StoryScreen(story, now_ms=world.store.now_ms())
    return "\n".join(map(str, screen.lines()))


def codes(world: HostWorld, request: str) -> list[str]:
    found = world.bridge.status(request).request
    return [each.code for each in found.failures]


def test_what_may_pass_is_tried_again_and_nothing_else(tmp_path):
    """Nobody waits for the answers but by looking at the files; the host is idle."""
    tries = Tries()

    model = obedient_model(tries.answers, main=launching(again=True))
    with host_world(tmp_path, model) as world:
        with world.stream():
            asked = {
                name: world.submit(named(name), **fields)
                for name, (fields, _) in TRIES.items()
            }
            ended = {name: world.ended(each) for name, each in asked.items()}
            world.wait_until_forgotten()

    failures = {name: codes(world, each) for name, each in asked.items()}
    assert failures == {
        "an error": ["agent_error"],
        "limits": ["quota", "quota"],
        "too late": [],
        "bad": [],
    }
    assert {name: code_of(each) for name, each in ended.items()} == {
        "an error": None,
        "limits": None,
        "too late": "quota",
        "bad": "agent_error",
    }
    late = ended["too late"].error
    assert "after the deadline" in late.message
    agents = {name: len(begun) for name, begun in tries.begun.items()}
    assert agents == {"an error": 2, "limits": 3, "too late": 1, "bad": 1}
    assert "try 1  agent_error: " in shown(world, asked["an error"])
    assert world.main_words().count("try again in 2 seconds") == 0


def test_a_limit_of_claude_p_is_waited_for_by_who_asked(tmp_path):
    """By its own process: no session is open, and the command goes on to wait."""
    left = [SOON, submits({"status": "success", "summary": "late"})]

    def model(_request):
        return left.pop(0) if left else reply("done")

    with host_world(tmp_path, model) as world:
        ran = ask(world, "Say hi.")

    assert ran.returncode == 0, ran
    assert '"summary": "late"' in ran.stdout or '"summary":"late"' in ran.stdout
