"""Pipelines, and questions of agents, in the real client."""

import json
import re
import sys
from pathlib import Path

import pytest
from dialogs import answer
from engine.pipeworld import agent, pipeline, program, tool, wait
from flow.simulation import plan_of
from host.test_checkpoints_in_the_client import CALL, OBEY, now, wait_for_end
from hostworld import host_world

from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.tasks.tasks import Tasks
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

G = "general-purpose"


def asking(request):
    told = [json.loads(each) for each in CALL.findall(request.newest_text)]
    calls = [tool_use("AskUserQuestion", each) for each in told]
    return reply(*calls) if calls else OBEY(request)


def report(prompt, _request):
    """An agent that does not know which file is meant, until it is told."""
    said = re.search(r"said to it:\s+`+\n(.*)\n", prompt)
    first = prompt.splitlines()[0]
    done = {
        "status": "success",
        "summary": f"{first} {said[1] if said else ''}".strip(),
    }
    if first.startswith("which") and said is None:
        done |= {"status": "blocked", "question": ["Which file?"]}
    return reply(json.dumps(done))


@pytest.fixture
def world(tmp_path):
    with host_world(tmp_path, obedient_model(report, main=asking)) as world:
        yield world


def begun(world, plan):
    with world.store.state() as state:
        run = begin(state, plan, name="build")
    advance(world.store, world.bridge.settings, run)
    return run


def test_what_an_agent_asks_is_asked_on_the_screen_and_it_goes_on(world):
    with world.terminal() as terminal:
        run = begun(world, plan_of(f'{G}:"which one":x -> {G}:"then {{x}}":y'))

        answer(terminal, r"Which file\?", "Down", "Down", "the second", "Enter")
        wait_for_end(world, run)

    (said,) = now(world, run).run["said"].values()
    assert said["text"] == "the second"
    prompts = [str(turn.body["messages"]) for turn in world.api.turns("subagent")]
    assert any("then which one the second" in each for each in prompts)


def test_a_pipeline_goes_on_by_hooks_and_its_programs_in_the_background(world):
    """Nobody waits: what takes long is done by a process that a hook has started."""
    plan = pipeline(
        one=agent(G, "first"),
        check=program(sys.executable, "-c", "open('ran', 'a').write('x')"),
        two=agent(G, "second ${{ steps.check.output.exit_code }}", background=True),
        both=wait(node="two", deadline_s=600),
        note=tool("create_task", {"title": "${{ steps.both.output.summary }}"}),
    )
    with world.terminal():
        run = begun(world, plan)
        wait_for_end(world, run)

    assert (Path(world.store.place.project) / "ran").read_text() == "x"
    assert [task.title for task in Tasks(world.store).list()] == ["second 0"]
