"""Flows that the model of the real client runs by our MCP server."""

import json

import pytest
from hostworld import host_world
from mcpstage import calling, register, results
from polling import wait_until

from bridge.api.flow_result import result_of_run
from bridge.engine.view import all_runs
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host

G = "general-purpose"
FLOW = f'[{G}:"alpha":a || {G}:"beta":b] -> {G}:"gamma {{a}} {{b}}":c'
RUN = ("run_flow", {"flow": FLOW})


def answers(prompt, _request):
    """An agent repeats its prompt."""
    line = prompt.splitlines()[0].strip()
    return reply(json.dumps({"status": "success", "summary": f"<{line}>"}))


def ended(world):
    runs = [*all_runs(world.bridge.store)]
    return runs and runs[0]["status"] == "completed"


def test_the_session_that_runs_a_flow_takes_it_to_its_end(tmp_path):
    """The call gives the first agents; the hooks lead on, with no process of ours."""
    with host_world(tmp_path, obedient_model(answers, main=calling(RUN))) as world:
        register(world)
        world.allow("mcp__hostbridge")
        with world.stream(greet=False) as session:
            session.ask("please", timeout_s=300)
            wait_until(lambda: ended(world), what="the end of the run")
        begun = json.loads(results(world)[0])
        (run,) = all_runs(world.bridge.store)
        done = result_of_run(world.bridge.store, world.bridge.settings, run["run"])

    assert (begun["status"], begun["asked"]) == ("running", 2)
    assert begun["next"].count('"bridge:') == 2
    assert done.text == "<gamma <alpha> <beta>>"
