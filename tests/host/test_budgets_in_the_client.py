"""A limit is raised while the session is open, by the command that status names."""

import json
import os
import time
from types import SimpleNamespace

import forkserver
import pytest
from hostworld import HostWorld, host_world
from polling import wait_until
from trustworld import Terminal

from bridge.protocol.ids import check_id
from bridge.store import wakeups
from bridge.store.charges import note_spent
from bridge.store.spending import HOUR_MS
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

ANSWER = '{"status": "success", "summary": "s"}'


def run(world: HostWorld, *words: str) -> str:
    """Run the command in the user's own shell; its output."""
    env = {"PATH": os.environ["PATH"], "HOME": str(world.stage.home)}
    ran = forkserver.run(
        [*words], env=env | {"LANG": "C.UTF-8"}, cwd=world.stage.project
    )
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
        program, *words = cure_of(world, waiting)

        run(world, *words)

        second = world.ended(waiting)
        assert (first.success, second.success) == (True, True)
        assert (program, words) == (
            "hostbridge",
            ["config", "set", "agents_per_hour", "2"],
        )
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


def test_an_agent_of_an_agent_counts_and_is_stopped_by_a_budget(tmp_path):
    inner = {"prompt": "inner", "description": "n", "subagent_type": "general-purpose"}

    def answers(prompt, request):
        if prompt.startswith("inner"):
            return reply("inner done", tokens_in=70, tokens_out=7)
        if len(request.own_calls) < 2:
            return reply(tool_use("Agent", inner))
        refused = "are used up" in request.newest_text
        return reply(json.dumps({"status": "success", "summary": str(refused)}))

    with host_world(tmp_path, obedient_model(answers)) as world, world.stream():
        run(world, "config", "set", "agents_per_session", "2")
        response = world.ended(world.submit())
        world.wait_until_forgotten()
        (session,) = world.live()
        tokens = sorted(each.tokens for each in session.spending.charges.values())

    assert response.parsed_output["summary"] == "True"
    assert tokens == [6, 77]


def test_more_slots_take_what_waits(tmp_path):
    """An agent is busy; the cure gives the next request a slot of its own."""
    script = obedient_model(
        lambda prompt, _: reply(ANSWER, delay_s=600 if "slow" in prompt else 0)
    )
    with host_world(tmp_path, script) as world, world.stream():
        run(world, "config", "set", "slots", "1")
        slow = world.submit("Be slow.")
        world.wait_for_stage(slow, "running")
        waiting = world.submit("Say hello.")
        _, *words = cure_of(world, waiting)

        run(world, *words)

        assert words == ["config", "set", "slots", "2"]
        assert world.ended(waiting).success
        assert world.stage_of(slow) == "running"


def test_more_at_once_than_is_allowed_needs_a_yes_at_a_terminal(tmp_path):
    """The session says so, and a person decides, in a terminal of their own."""
    with host_world(tmp_path) as world, world.terminal() as session:
        run(world, "config", "set", "fan_out", "2")
        asked = [run(world, "submit", f"number {n}").strip() for n in range(3)]
        for each in asked[:2]:
            world.ended(check_id(each))
        session.wait_for_text("held, until you say yes in a terminal: 1 request of")
        shown = run(world, "status")
        codes = []
        for word in ("no", "yes"):
            person = in_a_terminal(world, "approve", "--all")
            person.read_until("Type yes to agree: ")
            person.type(f"{word}\n")
            codes.append(person.end())
            if word == "no":
                time.sleep(3)
                assert world.stage_of(check_id(asked[2])) == "waiting"
        assert world.ended(check_id(asked[2])).success
    assert "waiting (held)" in shown
    assert codes == [1, 0]


def in_a_terminal(world: HostWorld, *words: str) -> Terminal:
    """The command in the user's own terminal."""
    env = {"PATH": os.environ["PATH"], "HOME": str(world.stage.home), "LANG": "C.UTF-8"}
    return Terminal(SimpleNamespace(folder=world.stage.project, env=env), *words)
