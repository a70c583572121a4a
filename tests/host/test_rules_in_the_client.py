"""Rules in the real client: what its model is told, and what runs."""

from __future__ import annotations

import json

import pytest
from hostworld import host_world
from stage.models import launch, new_tokens, obedient_model
from stage.replies import reply, tool_use

pytestmark = pytest.mark.host


def define_rules(world, text):
    home = world.bridge.settings.home
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "rules.yaml").write_text(text)


def calling(*commands, closing="ok"):
    """A main thread that runs commands, one a turn, and launches what it is told to."""
    left = list(commands)

    def script(request):
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if left and "go" in request.last_user_text:
            return reply(tool_use("Bash", {"command": left.pop(0)}))
        return reply(closing)

    return script


PUSH = """
on_before_tool:
  - name: no-push
    when: runs(command, "git push")
    block: Ask before {{ command }}.
"""


def test_a_blocked_call_does_not_run(tmp_path):
    with host_world(
        tmp_path, obedient_model(main=calling("cd . && git push; touch made"))
    ) as world:
        define_rules(world, PUSH)
        world.allow("Bash")
        printed = world.print("go")
        made = (world.stage.project / "made").exists()
        words = world.main_words()

    assert printed.exit_code == 0
    assert not made
    assert "Ask before cd . && git push; touch made." in words
    assert "[rule no-push (" in words
    assert world.complaints() == ""


SEED = """
on_before_tool:
  - when: tool_name == "Bash" and ("pytest" in command or "ruff" in command or "mypy" in command)
    spawn_agent:
      agent: validation-runner
      prompt: "Run and report: {{ tool_input.command }}"
"""  # noqa: E501 - word for word


def test_the_seeds_rule_end_to_end(tmp_path):
    """Blocked, handed over, run unblocked inside, and answered in the same turn."""

    def answers(_prompt, request):
        if not request.own_calls:
            return reply(tool_use("Bash", {"command": "touch made # pytest"}))
        seen = {"type": "command_output", "content": "ok", "passed": True}
        seen["command"] = "touch made # pytest"
        output = {"status": "success", "summary": "all passed", "evidence": [seen]}
        return reply(json.dumps(output))

    with host_world(
        tmp_path, obedient_model(answers, main=calling("pytest -q"))
    ) as world:
        define_rules(world, SEED)
        world.allow("Bash")
        printed = world.print("go")
        (response,) = world.responses()
        made = (world.stage.project / "made").exists()
        words = world.main_words()

    assert printed.exit_code == 0
    assert response.success, (response.error, response.raw_output)
    assert made
    assert "all passed" in words
    assert "Run and report: pytest -q" in world.subagent_words()
    assert world.complaints() == ""
