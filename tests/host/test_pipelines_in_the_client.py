"""Pipelines, and questions of agents, in the real client."""

import json
import re
import sys
from pathlib import Path

import pytest
from dialogs import answer
from engine.pipeworld import agent, pipeline, program, tool, wait
from flowruns import begun, texts, wait_for_end
from host.test_checkpoints_in_the_client import asking
from hostworld import host_world

from bridge.tasks.tasks import Tasks
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host

G = "general-purpose"


def report(prompt, _request):
    """An agent that does not know which file is meant, until it is told."""
    said = re.search(r"said to it:\s+`+\n(.*)\n", prompt)
    first = prompt.splitlines()[0]
    words = f"{first} {said[1]}" if said else first
    done = {"status": "success", "summary": words}
    if first.startswith("which") and said is None:
        done |= {"status": "blocked", "question": ["Which file?"]}
    return reply(json.dumps(done))


@pytest.fixture
def world(tmp_path):
    with host_world(tmp_path, obedient_model(report, main=asking)) as world:
        yield world


def test_what_an_agent_asks_is_asked_on_the_screen_and_it_goes_on(world):
    with world.terminal() as terminal:
        run = begun(world, f'{G}:"which one":x -> {G}:"then {{x}}":y')

        answer(terminal, r"Which file\?", "Down", "Down", "the second", "Enter")
        wait_for_end(world, run)

    assert texts(world, run) == ["the second"]
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
