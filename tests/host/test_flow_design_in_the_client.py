"""A flow is designed by an agent of the real client, which is told what was wrong."""

import json

import pytest
from hostworld import host_world

from bridge.api.flow_design import design
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host

GOOD = 'Explore:"Look around":seen -> Plan:"Plan {seen}"\n'
BAD = 'Explore:"Look" -> Plann:"Plan"\n'
WRONG = "no agent is named 'Plann'; did you mean Plan?"


def model(prompt, _request):
    flow = f"```flow\n{GOOD}```" if WRONG in prompt else BAD
    return reply(json.dumps({"flow": flow, "notes": "It only reads."}))


def test_what_cannot_run_goes_back_with_its_errors(tmp_path):
    with host_world(tmp_path, obedient_model(model)) as world, world.stream():
        tried = [*design(world.bridge, "Look, then plan", timeout_s=300)]

    assert [(each.flow, WRONG in each.problems) for each in tried] == [
        (BAD, True), (GOOD, False),
    ]  # fmt: skip
    first, again = world.api.turns("subagent")
    assert "What the flow is to do: Look, then plan\n" in first.prompt
    assert f"It is not valid:\n\n{BAD}" in again.prompt
    # It reads, and its answer is no part of the session.
    assert world.main_words().count("Look around") == 0
    assert world.complaints() == ""
