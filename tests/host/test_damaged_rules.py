"""Compiled rules that are damaged: no call passes that a rule blocks."""

from __future__ import annotations

import json

import pytest
from hookworld import hook_world, run_hook
from test_rule_gate import PUSH, call, write

from bridge.errors import StateUnavailable
from bridge.host import agent_rules
from bridge.host.agent_rules import AgentRules
from bridge.host.hook_table import HOOKS
from bridge.rules import compiled
from bridge.rules.compiled import compile_rules, declared_variables

DAMAGES = {
    "empty": b"",
    "truncated": None,
    "not JSON": b"\xff\x00",
    "a list": b"[]",
    "null": b"null",
    "another kind": b'{"rules": {}}',
    "no rules": b'{"version": 1, "variables": {}, "rules": []}',
    "no such rules": b'{"version": 1, "variables": {}, "rules": [5, {"when": []}]}',
    "gone": "gone",
}


@pytest.fixture
def world(tmp_path, monkeypatch):
    with hook_world(tmp_path, monkeypatch) as made:
        # The install that acts for the session.
        run_hook(next(h for h in HOOKS if h.event == "Stop"), made.event("Stop"))
        yield made


def damage(world, how):
    """Damage the rules about calls; returns the file."""
    write(world, PUSH)
    compile_rules(world.bridge.settings, world.store)
    file = world.store.place.state / "rules" / "on_before_tool.json"
    if DAMAGES[how] == "gone":
        file.unlink()
    else:
        file.write_bytes(DAMAGES[how] or file.read_bytes()[:-20])
    return file


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_rules_are_compiled_again_at_the_call(world, how):
    file = damage(world, how)

    assert call(world, "git push")["permissionDecision"] == "deny"
    assert json.loads(file.read_bytes())["rules"][0]["name"] == "no-push"
    assert call(world, "git pull") == {}


@pytest.mark.parametrize("how", ["truncated", "no such rules"])
def test_where_that_fails_what_a_rule_may_block_is_refused(world, monkeypatch, how):
    """Only tools that a rule is about; and what mends it is let through."""
    damage(world, how)

    def fails(*_):
        raise StateUnavailable("the disk is full")

    monkeypatch.setattr(compiled, "compile_rules", fails)

    def answered(tool, **tool_input):
        said = world.say("PreToolUse", tool_name=tool, tool_input=tool_input)
        return said.get("hookSpecificOutput", {}).get("permissionDecisionReason")

    said = answered("Bash", command="ls")
    assert "cannot be read, and not be compiled again: the disk is full" in said
    assert "`hostbridge rules check`" in said
    assert answered("Bash", command="hostbridge rules check") is None
    # No sign says that a rule is about these.
    assert answered("Read", file_path="/etc/hosts") is None
    assert world.say("Stop") == {}
    (world.store.place.state / "off").touch()
    assert answered("Bash", command="ls") is None


def test_an_agent_that_no_session_runs_is_held_by_them_too(world, monkeypatch):
    damage(world, "truncated")
    monkeypatch.setattr(agent_rules, "refresh_rules", lambda *_: None)
    run = {"depth": 1, "above": ["tester"], "variables": {}}
    rules = AgentRules(world.bridge.settings, world.store, "req-1", run)

    ruling = rules.ask(
        "PreToolUse", tool_name="Bash", tool_input={"command": "git push"}
    )

    assert "Ask first." in ruling.block


def test_damaged_variables_are_read_from_their_files(world):
    write(world, "variables: {size: 3}\n" + PUSH)
    compile_rules(world.bridge.settings, world.store)
    (world.store.place.state / "rules" / "variables.json").write_bytes(b"{")

    assert declared_variables(world.bridge.settings, world.store)["size"] == 3
