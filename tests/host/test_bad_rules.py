"""Every field of a rule with every kind of bad value: by `rules check`, by the hook."""

import json
import os
import re
from itertools import count

import forkserver
import pytest
from bad_values import FIELDS, RUINS, VALUES, rule_with

from bridge.protocol.hook_output import MAX_CONTEXT, MAX_REASON
from bridge.rules.compiled import compile_rules

pytestmark = pytest.mark.slow

_calls = count()


def write(world, rules, event="on_before_tool"):
    lines = [f"{event}:", *("  " + line for rule in rules for line in rule)]
    file = world.bridge.settings.home / "rules.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def check(world):
    """What `rules check` prints, and its exit code."""
    env = {"HOME": str(world.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    done = forkserver.run(["rules", "check"], env=env, cwd=world.project)
    assert done.err == b""
    return done.code, done.out.decode()


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
    """The rule could not be asked, so it blocks; what mends it is never blocked.

    What is not wrong decides without a fault: it may say that it cannot be evaluated.
    """
    names = [name for name in VALUES if name != "surrogate"]
    write(world, [rule_with(field, VALUES[name]) for name in names])

    code, said = check(world)

    wrong = {}
    for found in re.finditer(r"rules\.yaml:\d+:\d+: on_before_tool\[(\d+)\](.*)", said):
        if not found[2].split(": ")[1].startswith("warning"):
            wrong.setdefault(names[int(found[1])], found[2])
    assert code == (1 if wrong else 0)
    assert "huge int" in wrong
    assert "." in field or "null" in wrong
    for name, value in {"none": None, **VALUES}.items():
        # An agent that there is not is found out when it is asked.
        is_wrong = name in wrong and "no agent is named" not in wrong[name]
        write(world, [rule_with(field, value)])
        compile_rules(world.bridge.settings, world.store)
        said = call(world, command="ls -l" if is_wrong else "ls")
        call(world, command="\x00" * 100)
        call(world, "mcp__x__y", deep=json.loads("[" * 200 + "]" * 200))
        if not is_wrong:
            continue
        outer = field.partition(".")[0]
        assert wrong[name].startswith((f".{outer}", ": ")), wrong[name]
        assert said is not None, (field, name)
        assert "(~/.hostbridge/rules.yaml:2) cannot be asked: " in said
        assert "`hostbridge rules check` shows the place" in said
        assert call(world, command="hostbridge rules check") is None
        path = str(world.project / ".bridge" / "rules.yaml")
        assert call(world, "Edit", file_path=path) is None


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


BASH, THEIRS = {"tool_name": "Bash"}, {"agent_id": "theirs"}
EVENTS = {
    # by the name of its rules: the client's name, and fields
    "on_session_start": ("SessionStart", {"source": "startup"}),
    "on_user_prompt": ("UserPromptSubmit", {"prompt": "x"}),
    "on_before_tool": ("PreToolUse", BASH | {"tool_input": {"command": "ls"}}),
    "on_after_tool": ("PostToolUse", BASH | {"tool_response": {"stdout": ""}}),
    "on_subagent_stop": ("SubagentStop", THEIRS | {"last_assistant_message": "x"}),
    "on_stop": ("Stop", {"background_tasks": []}),
}
HOSTILE = (None, 7, True, [], {}, "", "\x00" * 500, "x" * 100_000, [[["x"]]], {"a": {}})


@pytest.mark.parametrize("event", EVENTS)
def test_each_field_of_each_event_may_be_anything(world, event):
    """What the client sends in another form next year, or a model makes up."""
    name, fields = EVENTS[event]
    effect = "block: b" if event not in ("on_session_start", "on_after_tool") else ""
    when = "- when: prompt == 'x' or tool_name == 'Bash' or event.source != 'y'"
    rule = [when, f"  {effect or 'inject_context: c'}"]
    write(world, [rule, ["- set_variable: {seen: '${{ tool_input }}'}"]], event)
    compile_rules(world.bridge.settings, world.store)

    for field in (*fields, "cwd", "permission_mode", "tool_use_id", "agent_type"):
        for value in HOSTILE:
            world.say(name, **{**fields, field: value})
    world.say(name)
