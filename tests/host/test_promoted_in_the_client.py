"""A temporary agent that was kept, with the real client."""

import json

import pytest
from flow.simulation import plan_of
from hostworld import bash, host_world

from bridge.agents.registry import Registry
from bridge.cli.agents_promote import promote
from bridge.engine.begin import begin
from bridge.store import live_runs
from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

GOOD = reply(json.dumps({"status": "success", "summary": "s"}))
FLOW = '$own := {base: "BASE", prompt: "You promote nothing.", model: "opus"} $own:"Go"'


def kept(world, base, to):
    with world.store.state() as state:
        run = begin(state, plan_of(FLOW.replace("BASE", base)))
        # The session is not to go on with it.
        live_runs.unmark(state, run)
    bridge = world.bridge
    registry = Registry.open(bridge.settings, world.store.place.project)
    done = promote("own", bridge, registry, run=run, to=to, on_conflict=None)
    return done.file


def test_claude_code_knows_it_as_an_agent_of_its_own(tmp_path):
    """Its prompt is the agent's system prompt, and its model the agent's."""
    with host_world(tmp_path, obedient_model(answering(GOOD))) as world:
        file = kept(world, "general-purpose", "claude")
        response = world.serve("stream", "Look.", agent="own")

    turn = world.api.turns("subagent")[0]
    assert file.parent.parent.name == ".claude"
    assert response.success, response
    assert "You promote nothing." in turn.system_text
    assert turn.prompt.startswith("Look.")
    assert "opus" in turn.model


def test_it_may_do_what_its_base_may(tmp_path):
    """Yours has the words of its file, and the limits of the agent it stands on."""
    write = reply(tool_use("Write", {"file_path": "made", "content": "x"}))
    model = obedient_model(answering(write, bash("touch granted"), GOOD))
    with host_world(tmp_path, model) as world:
        world.define("worker", "tools: [Bash]\nallow: ['Bash(touch *)']\n")
        kept(world, "worker", "user")
        response = world.serve("stream", "Look.", agent="own")

    turns = world.api.turns("subagent")
    results = [r.text for turn in turns for r in turn.tool_results]
    made = {path.name for path in world.stage.project.iterdir()}
    assert response.success, response
    assert turns[0].prompt.startswith("You promote nothing.\n\nLook.\n\n")
    assert "keeps Write from it" in results[0]
    assert made & {"made", "granted"} == {"granted"}
