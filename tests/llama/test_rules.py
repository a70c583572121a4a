"""Rules and the real small model: what holds whatever the model says."""

import json

import needs
import pytest
from hookworld import hook_world

from bridge.rules.compiled import compile_rules

pytestmark = pytest.mark.slow


def test_a_hook_answers_by_a_local_agent(tmp_path, monkeypatch):
    """The denial has its typed answer, and says that it is degraded."""
    needs.local_model()
    with hook_world(tmp_path, monkeypatch) as world:
        home = world.bridge.settings.home
        (home / "agents").mkdir(mode=0o700, parents=True)
        (home / "agents" / "runner.yaml").write_text(
            "name: runner\nmode: headless\nprovider: local\ntools: []\n"
        )
        (home / "rules.yaml").write_text(
            "on_before_tool: [{spawn_agent: {agent: runner, prompt: Say hello.}}]"
        )
        compile_rules(world.bridge.settings, world.store)
        call = {"tool_name": "Bash", "tool_input": {"command": "pytest"}}
        said = world.say("PreToolUse", tool_use_id="toolu_1", **call)

    output = said["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    head, answer = output["permissionDecisionReason"].split("\n", 1)
    assert "the agent runner, which answered (degraded: by " in head
    assert json.loads(answer)["status"] in {"success", "partial", "failed", "blocked"}
