"""Every field of a rule with every kind of bad value: by `rules check`, by the hook."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import count

import pytest
from bad_values import FIELDS, RUINS, VALUES, rule_with

from bridge.host.output import MAX_CONTEXT, MAX_REASON
from bridge.rules.compiled import compile_rules

_calls = count()


def write(world, rules, event="on_before_tool"):
    lines = [f"{event}:", *("  " + line for rule in rules for line in rule)]
    file = world.bridge.settings.home / "rules.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def check(world):
    """What `rules check` prints, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "bridge", "rules", "check"],
        cwd=world.project,
        env={"HOME": str(world.home), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def call(world, tool="Bash", **arguments):
    said = world.say(
        "PreToolUse",
        tool_name=tool,
        tool_input=arguments,
        tool_use_id=f"toolu_bad_{next(_calls)}",
    )
    assert len(json.dumps(said)) < MAX_CONTEXT + 2 * MAX_REASON
    output = said.get("hookSpecificOutput", {})
    is_denied = output.get("permissionDecision") == "deny"
    return output["permissionDecisionReason"] if is_denied else None


@pytest.mark.parametrize("field", FIELDS)
def test_a_bad_field_is_named_with_its_place_and_blocks(world, field):
    """The rule could not be asked, so it blocks; what mends it is never blocked."""
    values = {name: v for name, v in VALUES.items() if name != "surrogate"}
    outer = field.partition(".")[0]
    write(world, [rule_with(field, value) for value in values.values()])

    code, said = check(world)

    lines = {}
    for found in re.finditer(r"rules\.yaml:\d+:\d+: on_before_tool\[(\d+)\](.*)", said):
        if not found[2].split(": ")[1].startswith("warning"):
            lines.setdefault(int(found[1]), found[2])
    wrong = [name for number, name in enumerate(values) if number in lines]
    assert code == (1 if wrong else 0)
    assert "huge int" in wrong
    assert "." in field or "null" in wrong
    for number, name in enumerate(values):
        # An agent that there is not is found out when it is asked.
        if name not in wrong or "no agent is named" in lines[number]:
            continue
        assert lines[number].startswith((f".{outer}", ": ")), lines[number]
        write(world, [rule_with(field, values[name])])
        compile_rules(world.bridge.settings, world.store)
        said = call(world, command="ls -l")
        assert said is not None, (field, name)
        assert "(~/.hostbridge/rules.yaml:2) cannot be asked: " in said
        assert "`hostbridge rules check` shows the place" in said
        assert call(world, command="hostbridge rules check") is None
        path = str(world.project / ".bridge" / "rules.yaml")
        assert call(world, "Edit", file_path=path) is None


@pytest.mark.parametrize("field", FIELDS)
def test_what_is_not_wrong_decides_without_a_fault(world, field):
    """In force, and asked: it may still say that it cannot be evaluated."""
    for value in (None, *VALUES.values()):
        write(world, [rule_with(field, value)])
        compile_rules(world.bridge.settings, world.store)
        for command in ("ls", "\x00" * 100):
            call(world, command=command)
        call(world, "mcp__x__y", deep=json.loads("[" * 200 + "]" * 200))


@pytest.mark.parametrize("where", ["value", "event", "variables"])
@pytest.mark.parametrize("name", RUINS)
def test_a_file_that_is_ruined_leaves_the_rules_before_it(world, where, name):
    """And says where; without any before it, nothing is in force."""
    write(world, [rule_with("unknown", None)])
    compile_rules(world.bridge.settings, world.store)
    home = world.bridge.settings.home
    text = {
        "value": "\n".join(["on_before_tool:", *rule_with("block", RUINS[name])]),
        "event": f"on_before_tool: {RUINS[name]}\n",
        "variables": f"variables: {RUINS[name]}\non_stop: [{{block: x}}]\n",
    }[where]
    (home / "rules.yaml").write_text(text)

    code, said = check(world)

    assert code == 1
    assert re.search(r"rules\.yaml:\d+:", said)
    # Of these only the value is lost, and all else is in force.
    if name not in ("itself", "object") or where == "value":
        assert call(world, command="ls") is not None
    (home / "rules.yaml").unlink()
    compile_rules(world.bridge.settings, world.store)
    (home / "rules.yaml").write_text(text)
    compile_rules(world.bridge.settings, world.store)
    call(world, command="ls")


EVENTS = {
    "on_session_start": {"source": "startup"},
    "on_user_prompt": {"prompt": "x"},
    "on_before_tool": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
    "on_after_tool": {"tool_name": "Bash", "tool_response": {"stdout": ""}},
    "on_subagent_stop": {"agent_id": "theirs", "last_assistant_message": "x"},
    "on_stop": {"background_tasks": []},
}
NAMES = {
    "on_session_start": "SessionStart",
    "on_user_prompt": "UserPromptSubmit",
    "on_before_tool": "PreToolUse",
    "on_after_tool": "PostToolUse",
    "on_subagent_stop": "SubagentStop",
    "on_stop": "Stop",
}
HOSTILE = (None, 7, True, [], {}, "", "\x00" * 500, "x" * 100_000, [[["x"]]], {"a": {}})


@pytest.mark.parametrize("event", EVENTS)
def test_each_field_of_each_event_may_be_anything(world, event):
    """What the client sends in another form next year, or a model makes up."""
    name = NAMES[event]
    effect = "block: b" if event not in ("on_session_start", "on_after_tool") else ""
    write(
        world,
        [
            [
                "- when: prompt == 'x' or tool_name == 'Bash' or event.source != 'y'",
                f"  {effect or 'inject_context: c'}",
            ],
            ["- set_variable: {seen: '${{ tool_input }}'}"],
        ],
        event,
    )
    compile_rules(world.bridge.settings, world.store)
    fields = EVENTS[event]

    for field in (*fields, "cwd", "permission_mode", "tool_use_id", "agent_type"):
        for value in HOSTILE:
            world.say(name, **{**fields, field: value})
    world.say(name)
