"""A limit is raised while the session is open, by the command that status names."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from hostworld import HostWorld, host_world
from polling import wait_until
from stage.models import obedient_model
from stage.replies import reply

from bridge.protocol.ids import check_id
from bridge.store import wakeups

pytestmark = pytest.mark.host

ANSWER = '{"status": "success", "summary": "s"}'


def run(world: HostWorld, *words: str) -> str:
    """Run the command in the user's own shell; its output."""
    command = subprocess.run(
        [sys.executable, "-m", "bridge", *words],
        env={"PATH": os.environ["PATH"], "HOME": str(world.stage.home)},
        cwd=world.stage.project,
        capture_output=True,
        text=True,
        check=True,
    )
    return command.stdout + command.stderr


def cure_of(world: HostWorld, request: str) -> list[str]:
    """The command that frees a request which waits for a limit."""

    def limit():
        found = world.bridge.overview().requests
        return next((r.held_back for r in found if r.request_id == request), None)

    held = wait_until(limit, what="a limit that holds it back")
    (session,) = world.live()
    wait_until(lambda: wakeups.unanswered_s(world.store, session.host) is None)
    # What the submit woke has looked by then, and taken nothing.
    time.sleep(3)
    assert world.stage_of(check_id(request)) == "waiting"
    return held.cure.split()


def test_a_spent_budget_is_raised_in_an_open_session(tmp_path):
    """What waits is taken, though the session is idle and nothing restarts it."""
    with host_world(tmp_path) as world, world.stream():
        run(world, "config", "set", "agents_per_hour", "1")
        first = world.ended(world.submit())
        waiting = world.submit(timeout_s=7200)
        program, *words = cure_of(world, waiting)

        run(world, *words)

        second = world.ended(waiting)
        assert (first.success, second.success) == (True, True)
        assert (program, words) == (
            "hostbridge",
            ["config", "set", "agents_per_hour", "200"],
        )
        assert len(world.live()) == 1


def test_more_slots_take_what_waits(tmp_path):
    """An agent is busy; the cure gives the next request a slot of its own."""
    script = obedient_model(
        lambda prompt, _: reply(ANSWER, delay_s=60 if "slow" in prompt else 0)
    )
    with host_world(tmp_path, script) as world, world.stream():
        run(world, "config", "set", "slots", "1")
        slow = world.submit("Be slow.")
        world.wait_for_stage(slow, "running")
        waiting = world.submit("Say hello.")
        _, *words = cure_of(world, waiting)

        run(world, *words)

        assert words == ["config", "set", "slots", "4"]
        assert world.ended(waiting).success
        assert world.stage_of(slow) == "running"
