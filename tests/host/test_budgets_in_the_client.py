"""A limit is raised while the session is open, by the command that status names."""

import os
import time

import forkserver
import pytest
from hostworld import HostWorld, host_world
from polling import wait_until

from bridge.protocol.ids import check_id
from bridge.store import wakeups
from bridge.store.charges import note_spent
from bridge.store.spending import HOUR_MS
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host

ANSWER = '{"status": "success", "summary": "s"}'


def run(world: HostWorld, *words: str) -> str:
    """Run the command in the user's own shell; its output."""
    env = {"PATH": os.environ["PATH"], "HOME": str(world.stage.home)}
    env |= {"LANG": "C.UTF-8"}
    ran = forkserver.run([*words], env=env, cwd=world.stage.project)
    assert ran.code == 0, ran
    return (ran.out + ran.err).decode()


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


def test_a_spent_budget_is_raised_and_freed_in_an_open_session(tmp_path):
    """What waits is taken, though the session is idle and nothing restarts it.

    Also when an hour is over: its waiter looks after it, nobody types anything.
    """
    with host_world(tmp_path) as world, world.stream():
        run(world, "config", "set", "agents_per_hour", "1")
        first = world.ended(world.submit())
        waiting = world.submit(timeout_s=7200)
        cure = cure_of(world, waiting)

        run(world, *cure[1:])

        second = world.ended(waiting)
        assert (first.success, second.success) == (True, True)
        assert " ".join(cure) == "hostbridge config set agents_per_hour 2"
        assert len(world.live()) == 1

        world.wait_until_forgotten()
        waiting = world.submit(timeout_s=7200)
        cure_of(world, waiting)
        (session,) = world.live()
        charges = {
            call: each._replace(at=each.at - HOUR_MS, end=(each.end or 0) - HOUR_MS)
            for call, each in session.spending.charges.items()
        }
        spent = session.spending._replace(charges=charges)

        note_spent(world.store, session.host, spent)
        run(world, "wait", waiting, "--timeout", "5m")

        assert world.ended(waiting, timeout_s=0).success


def test_tokens_warn_stop_and_are_freed_in_an_open_session(tmp_path):
    """What the client tells of each agent, and what its user reads of it."""
    script = obedient_model(lambda *_: reply(ANSWER, tokens_in=2400, tokens_out=100))
    with host_world(tmp_path, script) as world, world.terminal() as terminal:
        run(world, "config", "set", "tokens_per_session", "3000")
        world.ended(world.submit())
        terminal.wait_for_text("2,500 of 3,000 tokens of this session are used")
        shown = run(world, "status")
        world.ended(world.submit())
        terminal.wait_for_text("5,000 of 3,000 tokens")
        waiting = world.submit(timeout_s=7200)
        _, *words = cure_of(world, waiting)
        agents = len(world.api.turns("subagent"))

        run(world, *words)

        third = world.ended(waiting)
        world.wait_until_forgotten()
        history = " ".join(terminal.history().split())
    assert "has used 83 % of tokens_per_session (2,500 of 3,000)" in shown
    assert third.success
    assert (agents, len(world.api.turns("subagent"))) == (2, 3)
    assert words == ["config", "set", "tokens_per_session", "10000"]
    assert history.count("2,500 of 3,000 tokens") == 1
    assert history.count("5,000 of 3,000 tokens") == 1
    assert "so no more agents start" in history
