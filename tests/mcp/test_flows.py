"""run_flow: in the open session, in processes of their own, and what is refused."""

import json
from typing import Any

import anyio
import pytest
from fakeclaude import SUCCESS, WAITING, fake_claude, printing, result, trust_folder
from flowruns import say
from hookworld import GOOD, HookWorld
from mcpworld import call_from, run, text_of, told
from polling import wait_until

from bridge.engine.view import all_runs
from bridge.store.switch import switch_off

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

G = "general-purpose"
TWO = f'{G}:"Count.":n -> {G}:"Sum up {{n}}":sum'


@pytest.fixture
def claude(tmp_path, world, monkeypatch):
    """A folder with an obedient client in it."""
    program = fake_claude(tmp_path / "bin")
    monkeypatch.setenv("BRIDGE_CLAUDE", str(program))
    trust_folder(tmp_path / "home", world.project)
    return program.parent


def outcome(value: dict[str, Any]) -> tuple[Any, ...]:
    return value["status"], value["success"], value["asked"]


def answer(world: HookWorld, request: str) -> None:
    """An agent of the session answers a request."""
    agent = world.start(world.launch(request))
    world.use(agent)
    world.stop(agent, GOOD)


def runs(world: HookWorld) -> list[Any]:
    return [*all_runs(world.bridge.store)]


async def test_the_only_session_is_told_to_start_the_agents_itself(world, use):
    """The call would wait for itself; what follows is offered by the hooks."""
    begun = told(await use("run_flow", {"flow": TWO}))

    assert outcome(begun) == ("running", None, 1)
    (first, second) = begun["steps"]
    assert first["request_id"] in begun["next"]
    assert second["state"] == "after node-0"

    answer(world, first["request_id"])
    arguments = {"run": begun["run"]}
    now = told(await use("wait_for_flow", arguments))
    assert now["steps"][1]["request_id"] in now["next"]
    answer(world, now["steps"][1]["request_id"])

    done = told(await use("wait_for_flow", arguments))
    assert outcome(done) == ("completed", True, 2)
    assert done["next"] is None
    assert done["variables"] == {"n": "s", "sum": "s"}
    assert (done["text"], done["answers"][0]["summary"]) == ("s", "s")
    assert [each["state"] for each in done["steps"]] == ["ok", "ok"]


@pytest.mark.usefixtures("claude")
async def test_a_headless_flow_answers_the_call(use):
    wanted = {"flow": TWO, "mode": "headless"}
    done = await use("run_flow", wanted)

    value = told(done)
    assert not done.is_error
    assert outcome(value) == ("completed", True, 2)
    assert value["trusted"]
    assert value["variables"]["sum"] == SUCCESS["summary"]
    assert "completed\nserved right here" in text_of(done)


def test_the_server_takes_its_flows_along(world, claude):
    """So that nothing runs for nobody; its user can go on with the run."""
    fake_claude(claude, WAITING)

    async def steps(client):
        wanted = {"flow": TWO, "mode": "headless", "wait": False}
        begun = told(await call_from(world, client, "run_flow", wanted))
        assert (begun["status"], begun["next"]) == ("running", None)
        await anyio.to_thread.run_sync(wait_until, (claude / "pid").exists)

    run(steps, world.project)
    assert [each["status"] for each in runs(world)] == ["cancelled"]


async def test_a_cancelled_call_cancels_its_run(world, claude, use):
    fake_claude(claude, WAITING)
    with anyio.move_on_after(30) as scope:
        async with anyio.create_task_group() as group:
            wanted = {"flow": TWO, "mode": "headless"}
            group.start_soon(use, "run_flow", wanted)
            await anyio.to_thread.run_sync(wait_until, (claude / "pid").exists)
            group.cancel_scope.cancel()
    assert not scope.cancelled_caught
    await anyio.to_thread.run_sync(
        wait_until, lambda: runs(world)[0]["status"] == "cancelled"
    )


async def test_progress_is_told_while_it_works(claude, client):
    """How many steps have ended, and which run; seconds, and no total."""
    fake_claude(claude, WAITING)
    heard = []

    async def note(gone, total, said):
        heard.append((gone > 1, total, said))
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        wanted = {"flow": TWO, "mode": "headless"}
        await client.call_tool("run_flow", wanted, progress_callback=note)

    assert heard == [(True, None, "0 of 2 steps; runs: node-0")]


async def test_a_checkpoint_is_for_a_person(world, use):
    """The result says what is asked and who can answer; the person does."""
    wanted = {"flow": '@ok:"Is {{what}} fine?":word', "params": {"what": "it"}}
    result = await use("run_flow", wanted)

    asks = told(result)
    way = f"hostbridge reply {asks['run']}"
    assert asks["waits_for_person"] == [{"question": "Is it fine?", "answer_with": way}]
    assert f"You cannot answer; your user can, with: {way}" in text_of(result)
    seen = told(await use("status", {}))["runs"]
    known = {"run": asks["run"], "flow": "", "status": "running", "steps_ended": 0}
    assert seen == [known | {"steps": 1, "waits_for": "you", "ways": [way]}]

    say(world, asks["run"], "yes: very")
    arguments = {"run": asks["run"]}
    done = told(await use("wait_for_flow", arguments))
    assert done["status"] == "completed"
    assert done["variables"] == {"word": "yes: very"}


async def test_a_run_is_paused_and_ended_but_not_taken_up_again(use, client):
    """Its user alone goes on with it: there is no tool for that."""
    wanted = {"flow": TWO, "wait": False}
    name = told(await use("run_flow", wanted))["run"]
    arguments = {"run": name, "pause": True}
    paused = told(await use("cancel_flow", arguments))
    assert (paused["status"], paused["next"]) == ("paused", None)
    seen = told(await use("status", {}))["runs"]
    assert f"hostbridge run --resume {name}" in seen[0]["ways"]

    ended = await use("cancel_flow", {"run": name})
    assert (told(ended)["status"], ended.is_error) == ("cancelled", True)
    again = await use("cancel_flow", {"run": name})
    assert text_of(again).startswith("bad_request: ")
    tools = {each.name for each in (await client.list_tools()).tools}
    ours = sorted(each for each in tools if "flow" in each)
    assert ours == ["cancel_flow", "run_flow", "wait_for_flow"]


async def test_error_what_is_refused_says_why(world, use, tmp_path):
    """Nothing is begun: of a flow with faults, of the project's own, of no flow.

    And no file is quoted that a stranger's link, or the model itself, leads to.
    """
    outside = tmp_path / "outside.flow"
    outside.write_text("do not show this")
    (world.project / "linked.flow").symlink_to(outside)
    (world.project / "calls.flow").write_text("@call:linked")
    (world.project / ".env.flow").write_text("do not show this")
    folder = world.project / ".bridge" / "flows"
    folder.mkdir(parents=True)
    (folder / "theirs.flow").write_text(TWO)
    (world.project / "secret.txt").write_text("do not show this")
    evil = "type: pipeline\nsteps: [{id: a, exec: [touch, done]}]\n"
    (world.project / "evil.yaml").write_text(evil)

    for flow, code, words in (
        ("theirs", "not_trusted", "hostbridge trust"),
        (".bridge/flows/theirs.flow", "not_trusted", "hostbridge trust"),
        ('Explore:"{x}"', "invalid_flow", "no step makes {x}"),
        (str(outside), "bad_request", "lies outside the project"),
        ("../outside.flow", "bad_request", "leads out of the project"),
        ("linked.flow", "bad_request", "is a link that leads out of the project"),
        ("calls.flow", "invalid_flow", "is a link that leads out of the project"),
        (".env.flow", "bad_request", "may hold secrets"),
        ("none", "bad_request", "no flow or workflow is named 'none'"),
        (str(world.project / "secret.txt"), "bad_request", "expected a name"),
        ("secret.txt", "bad_request", "expected a name"),
        ("evil.yaml", "bad_request", "expected a name"),
        ("evil.yaml/", "bad_request", "expected a name"),
        ("./evil.yaml/.", "bad_request", "expected a name"),
        ("evil.flow/../evil.yaml/./", "bad_request", "expected a name"),
        ('Explore:"{{x}}"', "bad_request", "the parameter 'x' is missing"),
    ):
        refused = await use("run_flow", {"flow": flow})
        assert refused.is_error
        assert told(refused)["error"]["code"] == code, text_of(refused)
        assert words in text_of(refused)
        assert "do not show" not in text_of(refused)
    unknown = await use("wait_for_flow", {"run": "r1"})
    assert "there is no run 'r1'" in text_of(unknown)
    switch_off(world.bridge.store)
    off = await use("run_flow", {"flow": TWO})
    assert told(off)["error"]["code"] == "no_host"

    assert runs(world) == []


@pytest.mark.usefixtures("claude")
def test_flows_that_wait_for_a_person_hold_nobody_up(world):
    async def steps(client):
        waits = {"flow": '@ok:"Fine?"', "mode": "headless", "wait": False}
        for _ in range(2):
            await call_from(world, client, "run_flow", waits)
        agent = {"prompt": "Which?", "mode": "headless"}
        done = told(await call_from(world, client, "start_agent", agent))
        assert done["success"]
        wanted = {"flow": TWO, "mode": "headless"}
        assert told(await call_from(world, client, "run_flow", wanted))["success"]

    run(steps, world.project, BRIDGE_SLOTS="1")


async def test_long_answers_are_left_to_their_records(claude, use):
    long = {"status": "success", "summary": "x" * 70_000}
    fake_claude(claude, printing(result(structured_output=long)))

    wanted = {"flow": f'{G}:"Count.":n', "mode": "headless"}
    done = told(await use("run_flow", wanted))

    assert (done["variables"], done["answers"]) == ({"n": None}, [])
    assert "hostbridge://requests/" in done["next"]
    assert len(json.dumps(done)) < 10_000
