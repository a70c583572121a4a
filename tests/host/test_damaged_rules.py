"""Compiled rules that are damaged: no call passes that a rule blocks."""

import json
from shutil import rmtree

import pytest
from hookprocesses import ROOT, run_hook
from rulehooks import put_in_force
from test_rule_gate import PUSH, START, call, write

from bridge.agents import trust
from bridge.bound import agent_rules
from bridge.bound.agent_rules import AgentRules
from bridge.bound.gate import last_word
from bridge.errors import StateUnavailable
from bridge.host.hook_table import HOOKS, form_of
from bridge.rules import compiled, layers
from bridge.rules.compiled import compile_rules, declared_variables
from bridge.rules.freshness import is_fresh
from bridge.rules.layers import live, sources

pytestmark = pytest.mark.slow

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
def world(world):
    """A session for which an install acts."""
    run_hook(next(h for h in HOOKS if h.event == "Stop"), world.event("Stop"))
    return world


def damage(world, how):
    """Damage the rules about calls; returns the file."""
    put_in_force(world, PUSH)
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
    monkeypatch.setattr(agent_rules, "is_fresh", lambda *_: True)
    run = {"depth": 1, "above": ["tester"], "variables": {}}
    rules = AgentRules(world.bridge.settings, world.store, "req-1", run)

    ruling = rules.ask(
        "PreToolUse", tool_name="Bash", tool_input={"command": "git push"}
    )

    assert "Ask first." in ruling.block


def test_damaged_variables_are_read_from_their_files(world):
    put_in_force(world, "variables: {size: 3}\n" + PUSH)
    (world.store.place.state / "rules" / "variables.json").write_bytes(b"{")

    assert declared_variables(world.bridge.settings, world.store)["size"] == 3


def test_where_time_is_up_the_users_rules_hold_and_no_event_tries_again(
    world, monkeypatch
):
    """The user's are compiled first; those of the project stay as they were."""
    settings, store = world.bridge.settings, world.store
    theirs = world.project / ".bridge" / "rules.yaml"
    theirs.parent.mkdir()
    theirs.write_text(PUSH.replace("git push", "make"))
    files = live(sources(settings, store.place))
    monkeypatch.setattr(trust, "refuse_inside_a_session", lambda *_: None)
    theirs_read = [file for file in files if file.layer == "project"]
    trust.record(settings, store.place.owner, theirs_read, clients=())
    compile_rules(settings, store)

    def is_up(*_):
        raise TimeIsUp

    write(world, PUSH)
    monkeypatch.setattr(layers.Rules, "files", is_up)
    with pytest.raises(TimeIsUp):
        compile_rules(settings, store)

    denied = [c for c in ("git push", "make", "ls") if call(world, c)]
    assert denied == ["git push", "make"]
    assert is_fresh(settings, store.place)
    said = world.say("SessionStart", source="startup")
    assert "not read to the end" in said["systemMessage"]


def test_rules_that_are_half_written_are_written_at_the_next_event(world, monkeypatch):
    write(world, PUSH)

    def is_up(*_):
        raise TimeIsUp

    with monkeypatch.context() as patch:
        patch.setattr(compiled, "_signs", is_up)
        with pytest.raises(TimeIsUp):
            compile_rules(world.bridge.settings, world.store)

    assert not is_fresh(world.bridge.settings, world.store.place)
    assert call(world, "git push")["permissionDecision"] == "deny"


class TimeIsUp(BaseException):
    """As the hook's own."""


@pytest.mark.parametrize("block", ["block: Ask first.", "inject_context: Ask first."])
def test_where_the_hook_fails_a_call_that_a_rule_blocks_is_refused(world, block):
    put_in_force(world, PUSH.replace("block: Ask first.", block))

    def answer(command, **more):
        event = world.event(
            "PreToolUse", tool_name="Bash", tool_input={"command": command}, **more
        )
        state = str(world.store.place.state)
        return last_word("PreToolUse", state, json.dumps(event).encode())

    is_blocking = block.startswith("block")
    assert (b"`hostbridge rules check`" in answer("git push")) is is_blocking
    assert answer("ls") == answer("hostbridge rules check") == b""
    (world.store.place.state / "off").touch()
    assert answer("git push") == b""


@pytest.mark.parametrize("ends", ["kill -ALRM $$", "exit 0"])
def test_where_the_quick_half_takes_too_long_what_has_a_sign_is_refused(
    world, tmp_path, ends
):
    put_in_force(world, PUSH)
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{ends}\n")
    python.chmod(0o755)

    form = form_of("local", ROOT / "hooks", str(python))
    event = world.event("PreToolUse", tool_name="X", tool_input={})

    bash, read = (run_hook(START[tools], event, form) for tools in ("bash", "read"))

    assert (b'"deny"' in bash[1]) is ("ALRM" in ends)
    assert (bash[0], read) == (0, (0, b"", b""))


def test_what_was_never_compiled_is_fresh_while_there_are_no_rules(world):
    """A rule set alone is enough to compile; it is read at the next event."""
    settings, place = world.bridge.settings, world.store.place
    rmtree(place.state / "rules", ignore_errors=True)
    assert is_fresh(settings, place)

    (settings.home / "rules").mkdir()
    (settings.home / "rules" / "strict.yaml").write_text(PUSH)

    assert not is_fresh(settings, place)


def test_variables_of_changed_rules_are_known_at_once(world):
    """Before any event has compiled them: `hostbridge vars` asks."""
    settings, store = world.bridge.settings, world.store
    write(world, "variables: {size: 3}")
    compile_rules(settings, store)

    write(world, "variables: {size: 4, speed: 5}")

    known = declared_variables(settings, store)
    assert (known["size"], known["speed"]) == (4, 5)
