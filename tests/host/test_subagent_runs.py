"""The record of an agent: several hooks change it at once, and it is forgotten."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from hookworld import HookWorld

from bridge.store import subagent_runs
from bridge.store.subagent_runs import AgentRun
from bridge.store.tool_calls import running_bash


def _begun(world: HookWorld) -> tuple[AgentRun, AgentRun]:
    """An agent at its launch, and at its first tool call."""
    _, call, agent = world.begin()
    launched = subagent_runs.find_call(world.store, call)
    world.use(agent)
    running = subagent_runs.find_agent(world.store, agent)
    assert launched is not None
    assert running is not None
    return launched, running


def _warned(run: AgentRun) -> AgentRun:
    return run.with_(refused=run.refused + 1)


def test_each_of_several_hooks_at_once_counts(world):
    """The client asks for several calls of one message at once."""
    _, run = _begun(world)

    def warn(_number):
        subagent_runs.change(world.store, run, _warned)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(warn, range(40)))

    assert [each.refused for each in world.runs()] == [40]


def test_a_late_hook_brings_no_agent_back(world):
    """One that had ended would be waited for at the end of the turn."""
    _, run = _begun(world)

    subagent_runs.end(world.store, run)
    late = subagent_runs.change(world.store, run, _warned)
    ended = [each.state for each in world.runs()]
    subagent_runs.drop(world.store, run)
    subagent_runs.change(world.store, run, _warned)
    subagent_runs.end(world.store, run)

    assert (late.state, late.refused, ended) == ("ended", 1, ["ended"])
    assert world.runs() == []


@pytest.mark.parametrize("end", [subagent_runs.end, subagent_runs.drop])
def test_a_late_hook_that_saw_the_launch_brings_no_agent_back(world, end):
    """The event of the launch comes after the call: a quick agent has ended by then."""
    launched, run = _begun(world)
    end(world.store, run)
    before = world.runs()

    bound = subagent_runs.bind(world.store, launched, run.agent_id)

    assert bound.agent_id == run.agent_id
    assert world.runs() == before


def test_an_end_finds_an_agent_that_was_bound_meanwhile(world):
    launched, run = _begun(world)

    subagent_runs.end(world.store, launched)

    (ended,) = world.runs()
    assert (ended.agent_id, ended.state) == (run.agent_id, "ended")


def test_an_end_is_noted_although_the_lock_is_held(world):
    """Nobody would note it later."""
    _, run = _begun(world)
    impatient = type(world.store)(world.store.place, lock_wait_s=0.01)

    with world.store.exclusive():
        subagent_runs.end(impatient, run)

    assert [each.state for each in world.runs()] == ["ended"]


def test_two_calls_at_once_for_one_request_launch_one_agent(world, monkeypatch):
    """The call that comes second leaves the record of the first alone."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    first: list[str] = []
    note_call = subagent_runs.note_call

    def overtaken(store, run):
        note_call(store, run)
        monkeypatch.setattr(subagent_runs, "note_call", note_call)
        first.append(world.launch(request))

    monkeypatch.setattr(subagent_runs, "note_call", overtaken)
    second = world.call_agent(f"bridge:{request}")

    assert "already works on" in str(second)
    world.stop(world.start(*first))
    assert world.code(request) == "success"
    launches = [e for e in world.store.history(request) if e["event"] == "launched"]
    assert len(launches) == 1


def test_an_agent_that_another_hook_binds_meanwhile_is_not_lost(world, monkeypatch):
    """Its record moves from the call's name to the agent's between two looks."""
    request, call, agent = world.begin()
    find_launched = subagent_runs.find_launched

    def overtaken(store, tool_use_id):
        run = find_launched(store, call)
        if run is not None:
            subagent_runs.bind(store, run, agent)
        return find_launched(store, tool_use_id)

    monkeypatch.setattr(subagent_runs, "find_launched", overtaken)
    world.stop(agent)

    assert world.code(request) == "success"


def test_agents_of_dead_clients_are_forgotten(world):
    """Otherwise every tool call of every later session would look at them."""
    _, agent = world.working()
    (run,) = world.runs()
    world.change("agents", agent, host=run.host.to_data() | {"startTime": "1"})

    world.fire("SessionStart", source="startup")

    assert world.runs() == []


def _in_a_container(world: HookWorld, agent: str, *, answer_by: int) -> None:
    """Have the client of an agent be one that ran in a container, with the same pid."""
    folder = world.store.place.state / "agents"
    for file in (folder / f"{agent}.json", folder / "t.bash"):
        record = json.loads(file.read_text())
        record["host"]["pidNamespace"] = "pid:[4]"
        record |= {"launchedAt": 1, "answerBy": answer_by, "session": "session-0"}
        file.write_text(json.dumps(record))


def _runs_a_command(world: HookWorld) -> str:
    """An agent of a client that runs a Bash command right now."""
    _, agent = world.working()
    world.note_command("t.bash", "old", agentId=agent)
    return agent


def test_agents_of_clients_in_a_container_are_forgotten_after_the_lease(
    world, monkeypatch
):
    """Nobody sees them die. One that may still answer is silent during a command."""
    monkeypatch.setenv("BRIDGE_LEASE_S", "60")
    agent = _runs_a_command(world)
    now_ms = world.store.now_ms()
    left = []
    for answer_by in (now_ms - 30_000, now_ms - 90_000):
        _in_a_container(world, agent, answer_by=answer_by)
        world.fire("SessionStart", source="startup")
        agents = world.store.place.state / "agents"
        left.append(sorted(file.name for file in agents.iterdir()))

    files = sorted([*(f"{agent}.{e}" for e in ("json", "calls", "noted")), "t.bash"])
    assert left == [files, []]


def test_what_another_client_left_makes_nobody_a_child(world):
    """In a container that is started again, a client commonly has the same pid."""
    agent = _runs_a_command(world)
    pid = int(os.environ["CLAUDE_PID"])
    mine = running_bash(world.store, pid)

    _in_a_container(world, agent, answer_by=world.store.now_ms())
    of_another = running_bash(world.store, pid)

    assert (mine[:2], of_another) == (("old", 0), None)


def test_a_command_in_a_sandbox_is_told_by_the_pid(world):
    """It cannot see its client: what it has of it is the pid in its environment."""
    _runs_a_command(world)
    file = world.store.place.state / "agents" / "t.bash"
    note = json.loads(file.read_text())
    unseen = 2**31 - 1
    note["host"]["pid"] = unseen
    file.write_text(json.dumps(note))

    assert running_bash(world.store, unseen)[:2] == ("old", 0)
