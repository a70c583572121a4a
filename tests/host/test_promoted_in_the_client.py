"""A temporary agent that was kept, with the real client."""

import json

import pytest
from flow.simulation import plan_of
from hostworld import host_world

from bridge.agents.registry import Registry
from bridge.cli.definitions.agents_promote import promote
from bridge.engine.begin import begin
from bridge.store import live_runs
from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host

OWN = '{base: "general-purpose", prompt: "You promote nothing.", model: "opus"}'
GOOD = reply(json.dumps({"status": "success", "summary": "s"}))


def test_claude_code_knows_it_as_an_agent_of_its_own(tmp_path):
    """Its prompt is the agent's system prompt, and its model the agent's."""
    with host_world(tmp_path, obedient_model(answering(GOOD))) as world:
        with world.store.state() as state:
            run = begin(state, plan_of(f'$own := {OWN} $own:"Go"'))
            # The session is not to go on with it.
            live_runs.unmark(state, run)
        bridge = world.bridge
        registry = Registry.open(bridge.settings, world.store.place.project)
        kept = {"run": run, "to": "claude", "on_conflict": None}
        file = promote("own", bridge, registry, **kept).file
        response = world.serve("stream", "Look.", agent="own")

    turn = world.api.turns("subagent")[0]
    assert file.parent.parent.name == ".claude"
    assert response.success, response
    assert "You promote nothing." in turn.system_text
    assert turn.prompt.startswith("Look.")
    assert "opus" in turn.model
