"""The real client: what the user chose for a session outranks a grant."""

import json

import pytest
from hostworld import host_world

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

WRITER = """\
description: writes what it is told to
provider: claude
mode: terminal
prompt: "{{ task }}"
tools: [Write, Read]
allow: [Write]
"""


@pytest.mark.parametrize(
    ("mode", "rules", "writes"),
    [
        ("default", {}, True),
        ("plan", {}, False),
        ("default", {"deny": ["Write"]}, False),
        pytest.param("default", {"ask": ["Write"]}, False, marks=pytest.mark.full),
        ("dontAsk", {}, False),
    ],
    ids=["default", "plan", "denied", "ask", "dontAsk"],
)
def test_what_a_granted_write_may(tmp_path, mode, rules, *, writes):
    def answers(_prompt, request):
        if request.own_calls:
            words = request.newest_text[-2000:]
            return reply(json.dumps({"status": "partial", "summary": words or "s"}))
        file = str(tmp_path / "project" / "made")
        return reply(tool_use("Write", {"file_path": file, "content": "x"}))

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.define("writer", WRITER)
        for behavior, names in rules.items():
            world.rule(behavior, *names)
        with world.terminal(mode=mode) as terminal:
            world.ended(world.submit(agent="writer"))
            history = terminal.history()
        made = (world.stage.project / "made").exists()

    assert made is writes
    assert "Do you want" not in history
