"""`claude -p` asks back, in the real client: its conversation is resumed."""

import json
import re

import pytest
from hostworld import host_world

from bridge.api.bridge import Bridge
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host

ASKS = {"hostbridge_question": {"words": "Colour?", "form": {"enum": ["red", "blue"]}}}


def model(request):
    """It asks first, and answers with all that it was told."""
    replied = re.search(r'```json\n"(\w+)"\n```', request.heard_text)
    if replied is None:
        return reply(json.dumps(ASKS))
    knows = "ZEBRA" if "ZEBRA" in request.heard_text else "no idea"
    summary = f"{replied[1]}, {knows}"
    return reply(json.dumps({"status": "success", "summary": summary}))


def test_the_conversation_goes_on_with_the_reply(tmp_path, monkeypatch):
    """The prompt is not said again: what the agent knew, it knows."""
    with host_world(tmp_path, model) as world:
        for name, value in world.stage.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("BRIDGE_CLAUDE", str(world.stage.program))
        answer = Bridge.open(world.stage.project).ask(
            "Paint the ZEBRA.", route="claude", on_question=lambda _: "red"
        )
        prompts = [r.prompt for r in world.api.requests if r.role == "main"]

    assert answer.parsed.summary == "red, ZEBRA"
    assert len(prompts) == 2
