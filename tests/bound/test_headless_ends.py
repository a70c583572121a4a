"""Whatever is killed around an agent that a hook runs: one answer, nothing left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from headlessworld import (
    PASSED,
    SLOW,
    answers,
    claude,
    headless_world,
    responses,
    started_hook,
)
from hookprocesses import INSTALLED
from polling import wait_until
from rulehooks import run

from bridge.bound import headless
from bridge.bound.agent_rules import AgentRules
from bridge.process import detached
from bridge.store.tool_calls import HEADLESS, note_handover, untold

pytestmark = pytest.mark.slow


@pytest.fixture
def world(tmp_path, monkeypatch):
    with headless_world(tmp_path, monkeypatch) as made:
        yield made


def test_a_killed_hook_leaves_the_agent_at_work(world, monkeypatch):
    """The same call then meets the answer of the same request."""
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    world.say("UserPromptSubmit", prompt="hello")
    with started_hook(world, INSTALLED) as hook:
        wait_until((folder / "pid").exists, what="the agent")
        os.killpg(hook.pid, signal.SIGKILL)
    (request,) = untold(world.store, world.session).values()

    (folder / "go").touch()
    runs, said = run(world)

    assert not runs
    assert "4 passed" in said
    assert [r["requestId"] for r in responses(world)] == [request]


@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.04, 0.06, 0.1, 0.2, 0.4, 1.0])
def test_a_hook_that_is_killed_at_any_moment_loses_nothing(world, monkeypatch, after_s):
    """The same call again has its answer, from one agent at most."""
    claude(world, monkeypatch, answers(PASSED))
    world.say("UserPromptSubmit", prompt="hello")
    with started_hook(world) as hook:
        time.sleep(after_s)
        os.killpg(hook.pid, signal.SIGKILL)

    runs, said = run(world)

    assert not runs
    assert "4 passed" in said
    assert list(world.store.waiting()) == list(world.store.claimed()) == []


def test_two_hooks_of_one_call_wait_for_one_agent(world, monkeypatch):
    """Two entries see a command that names hostbridge; so may two calls at once."""
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    world.say("UserPromptSubmit", prompt="hello")
    hooks = [started_hook(world) for _ in range(3)]
    wait_until((folder / "pid").exists, what="the agent")
    (folder / "go").touch()
    for hook in hooks:
        assert b"4 passed" in hook.stdout.read()
        hook.stdout.close()
        hook.wait()

    assert len(responses(world)) == 1


def test_a_killed_process_is_started_again_by_the_same_call(world, monkeypatch):
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    monkeypatch.setattr(headless, "MAX_WAIT_S", 0.2)
    run(world)
    wait_until((folder / "pid").exists, what="the agent")
    (held,) = world.store.claimed()
    os.kill(held.claim.host.pid, signal.SIGKILL)
    (folder / "go").touch()
    monkeypatch.setattr(headless, "MAX_WAIT_S", 60)
    wait_until(
        lambda: not os.path.exists(f"/proc/{held.claim.host.pid}/exe"), what="its end"
    )

    runs, said = run(world)

    assert not runs
    assert "4 passed" in said
    assert [r["requestId"] for r in responses(world)] == [held.request_id]


@pytest.mark.parametrize("how", ["killed", "left at once", "resumed"])
def test_the_agent_ends_with_the_session_that_gave_it_the_call(world, monkeypatch, how):
    """Nobody wants the answer, but one that was resumed meanwhile."""
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    monkeypatch.setattr(headless, "MAX_WAIT_S", 0.05)
    run(world)
    client = int(os.environ["CLAUDE_PID"])
    with subprocess.Popen(["sleep", "600"]) as second:
        if how == "left at once":
            world.say("SessionEnd", reason="other")
        else:
            wait_until((folder / "pid").exists, what="the agent")
        if how == "resumed":
            monkeypatch.setenv("CLAUDE_PID", str(second.pid))
            world.say("SessionStart", source="resume")

        os.kill(client, signal.SIGKILL)

        if how == "resumed":
            time.sleep(1)
            (folder / "go").touch()
        wait_until(lambda: responses(world), what="the end")
        second.kill()
    (response,) = responses(world)
    assert response["success"] is (how == "resumed")
    if response["success"]:
        return
    assert response["error"]["code"] == "host_gone"
    assert response["error"]["stage"] == "running"
    wait_until(lambda: not serving(), what="the end of the process")
    assert untold(world.store, world.session) == {}


def serving():
    """The processes that serve requests of this test."""
    mark = os.fsencode(os.environ["HOME"])
    found = (path.parent for path in Path("/proc").glob("[0-9]*/cmdline"))
    return [each for each in found if is_serving(each, mark)]


def is_serving(process, mark):
    try:
        words = (process / "cmdline").read_bytes()
        return (
            b"bridge.worker.one_request" in words
            and mark in (process / "environ").read_bytes()
        )
    except OSError:
        return False


def test_the_process_takes_the_package_of_its_hook():
    """Another may be installed, or none: nothing is imported before the path is set."""
    script = [sys.executable, "-I", "-S", str(detached._SCRIPT), "[]", "x", "r-1"]

    done = subprocess.run(script, stderr=subprocess.DEVNULL, check=False)

    assert done.returncode == 0


def test_what_an_agent_gave_away_ends_with_it(world):
    """Its process may be gone already, and would leave the request to its deadline."""
    outer, inner = (world.submit(route="claude") for _ in range(2))
    note_handover(world.store, outer, f"{HEADLESS}key", inner)

    AgentRules(world.bridge.settings, world.store, outer, {}).forget()

    assert (world.code(outer), world.code(inner)) == (None, "cancelled")
    assert untold(world.store, outer) == {}
