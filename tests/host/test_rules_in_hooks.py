"""Rules at each event: what the client is told, and what is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hookworld import hook_world

from bridge.rules.compiled import compile_rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookworld import HookWorld


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    with hook_world(tmp_path, monkeypatch) as made:
        yield made


def rules(world: HookWorld, text: str) -> None:
    home = world.bridge.settings.home
    (home / "rules.yaml").write_text(text)
    compile_rules(world.bridge.settings, world.store)


def bash(world: HookWorld, command: str, **fields) -> dict:
    said = world.say(
        "PreToolUse",
        tool_name="Bash",
        tool_input={"command": command},
        tool_use_id=f"toolu_{abs(hash(command))}",
        **fields,
    )
    return said.get("hookSpecificOutput", {}) | {
        k: v for k, v in said.items() if k == "systemMessage"
    }


PUSH = """\
on_before_tool:
  - name: no-push
    when: runs(command, "git push")
    block: Ask before {{ command }}.
"""


def test_a_blocked_call_says_why_and_where(world):
    rules(world, PUSH)

    said = bash(world, "cd x && git push -f")

    assert said["permissionDecision"] == "deny"
    home = world.bridge.settings.home
    assert said["permissionDecisionReason"] == (
        f"Ask before cd x && git push -f.\n[rule no-push ({home}/rules.yaml:2)]"
    )
    assert bash(world, "git log") == {}


SEED = """
on_before_tool:
  - when: tool_name == "Bash" and ("pytest" in command or "ruff" in command or "mypy" in command)
    spawn_agent:
      agent: validation-runner
      prompt: "Run and report: {{ tool_input.command }}"
"""  # noqa: E501 - word for word


def test_the_seeds_own_rule_hands_the_call_over(world):
    rules(world, SEED)

    said = bash(world, "pytest -q 'a {{ b }}'\n")

    assert said["permissionDecision"] == "deny"
    ((request, _claim),) = __import__("bridge.host.offers", fromlist=["x"]).open_offers(
        _hook(world)
    )
    assert request.prompt == "Run and report: pytest -q 'a {{ b }}'\n"
    assert f"bridge:{request.request_id}" in said["permissionDecisionReason"]
    again = bash(world, "pytest -q 'a {{ b }}'\n")
    assert again == said
    agent = world.start(world.launch(request.request_id))
    inside = bash(world, "pytest -q", agent_id=agent)
    assert "permissionDecision" not in inside


def _hook(world):
    from bridge.host.context import HookContext
    from bridge.host.events import HookEvent

    (session,) = world.live()
    return HookContext(world.bridge.settings, world.store, HookEvent({}), session)
