"""What a step allows and refuses, and which events concern it."""

import re
from typing import Any

import pytest
from stepflows import after, before, compiled, prompt

from bridge.policy import step_workflow
from bridge.policy.rule_set import Whose
from bridge.policy.shell_functions import shell

OURS = "mcp__hostbridge__"
PLUGINS = "mcp__plugin_hostbridge_hostbridge__"


def record(step: str = "", **more: Any) -> dict[str, Any]:
    text = f"""
        variables: {{ready: false}}
        steps:
          - name: one
            {step}
            transitions: [{{to: two, when: ready}}]
          - name: two
        exit_condition: current_step == 'two'
    """
    return {"code": compiled(text), "step": "one", "status": "active", **more}


def nobodys() -> Whose:
    return Whose({})


def never() -> Whose:
    raise AssertionError("no condition is to be asked")


def refused(kept: dict[str, Any], tool: str, **tool_input: Any) -> str | None:
    return step_workflow.refusal(kept, before(tool, **tool_input), never)


X_Y = "allowed_mcp_tools: ['x:y']"
LISTS = [
    ("allowed_tools: all", ["Edit", "mcp__x__y"], []),
    ("", ["Edit", "mcp__x__y"], []),
    ("allowed_tools: [Read, Grep]", ["Read", "Grep"], ["Edit", "mcp__x__y"]),
    ("allowed_tools: []", [], ["Read", "Edit", "mcp__x__y"]),
    ("allowed_tools: ['mcp__x__*']", ["mcp__x__y"], ["mcp__z__y", "Read"]),
    ("allowed_tools: ['*Edit']", ["Edit", "NotebookEdit"], ["Write"]),
    ("blocked_tools: [Edit, 'mcp__x__*']", ["Read"], ["Edit", "mcp__x__y"]),
    ("blocked_tools: all", [], ["Read", "mcp__x__y"]),
    (X_Y, ["Read", "mcp__x__y"], ["mcp__x__z"]),
    ("allowed_mcp_tools: ['x:*']", ["mcp__x__z"], ["mcp__z__x"]),
    (f"{{allowed_tools: [Read], {X_Y}}}", ["Read", "mcp__x__y"], ["mcp__x__z", "Edit"]),
    ("blocked_mcp_tools: ['x:*']", ["mcp__z__y", "Read"], ["mcp__x__y"]),
    # Our own tools, however the server is installed.
    ("allowed_tools: [Read]", [f"{OURS}get_task", f"{PLUGINS}close_task"], []),
    (
        "allowed_mcp_tools: ['x-tasks:get_task']",
        [f"{OURS}get_task", f"{PLUGINS}get_task", f"{OURS}set_variables"],
        [f"{OURS}close_task", f"{PLUGINS}close_task"],
    ),
    # Whichever of its two names a call or a list has.
    (f"blocked_tools: [{OURS}close_task]", [], [f"{PLUGINS}close_task"]),
    (f"blocked_tools: [{PLUGINS}close_task]", [], [f"{OURS}close_task"]),
    ("blocked_tools: [mcp__x]", ["mcp__xy__y"], ["mcp__x__y"]),
    ("allowed_tools: [mcp__x]", ["mcp__x__y"], ["mcp__xy__y", "Read"]),
    ("blocked_mcp_tools: ['a__b:y']", ["mcp__a__y"], ["mcp__a__b__y"]),
    # What does the same, by another name.
    ("blocked_tools: [Task]", ["Read"], ["Agent", "Task"]),
    ("blocked_tools: [Agent]", [], [f"{OURS}start_agent", f"{PLUGINS}run_flow"]),
    ("blocked_tools: [Bash]", ["Edit"], ["Bash", "Monitor", "PowerShell", "Skill"]),
    ("{allowed_tools: [Monitor], blocked_tools: [Bash]}", ["Monitor"], ["PowerShell"]),
    (
        "blocked_mcp_tools: ['hostbridge:*']",
        [f"{OURS}set_variables", f"{PLUGINS}status"],
        [f"{OURS}close_task"],
    ),
]


@pytest.mark.parametrize(("step", "allowed", "denied"), LISTS)
def test_lists_of_tools(step, allowed, denied):
    lines = re.sub(r", (\w+_tools)", r"\n            \1", step[1:-1])
    kept = record(lines if step.startswith("{") else step)

    assert [tool for tool in allowed if refused(kept, tool)] == []
    assert [tool for tool in denied if not refused(kept, tool)] == []


@pytest.mark.parametrize("tool", ["ToolSearch", "SubagentHandback", "StructuredOutput"])
def test_what_a_model_needs_is_always_allowed(tool):
    assert refused(record("allowed_tools: []"), tool) is None
    assert refused(record("blocked_tools: all"), tool) is None


OUR_COMMANDS = [
    ("hostbridge vars set ready:=true", True),
    ("hostbridge workflow status", True),
    ("hostbridge ask developer 'x'", False),
    ("hostbridge vars set a=b; rm -rf x", False),
    ("hostbridge vars set a=$(rm x)", False),
    ("hostbridge", False),
    ("ls", False),
]


@pytest.mark.parametrize(("command", "passes"), OUR_COMMANDS)
def test_the_command_that_sets_variables_passes(command, passes):
    kept = record("allowed_tools: [Read]")

    assert (refused(kept, "Bash", command=command) is None) is passes


def test_a_rule_refuses_by_its_condition():
    kept = record("rules: [{when: \"command == 'x'\", message: not x}]")

    said = step_workflow.refusal(kept, before("Bash", command="x"), nobodys)
    assert "step one of the workflow one refuses this call: not x" in said
    assert step_workflow.refusal(kept, before("Bash", command="y"), nobodys) is None


def test_a_rule_that_cannot_be_asked_refuses():
    kept = record('rules: [{when: "len(tool_input.x) > 1", message: not}]')

    said = step_workflow.refusal(kept, before("Edit", x=1), nobodys)

    assert "'len(tool_input.x) > 1' (/w/one.yaml:4) cannot be asked" in said


def test_a_rule_that_warns_lets_the_call_pass():
    rule = "rules: [{when: true, action: warn, message: run the tests, tools: [Edit]}]"
    kept = record(rule)

    assert step_workflow.refusal(kept, before("Edit"), nobodys) is None
    assert step_workflow.warnings(kept, before("Edit"), nobodys) == ["run the tests"]
    assert step_workflow.warnings(kept, before("Read"), nobodys) == []


@pytest.mark.parametrize(
    ("pattern", "blocked"),
    [("git push *", "cd x && git push origin"), ("git pu*", "git push origin")],
)
def test_blocked_commands_are_refused(pattern, blocked):
    """Wherever they stand; a glob covers what it is the beginning of."""
    kept = record(f'blocked_commands: [{{pattern: "{pattern}", reason: ask first}}]')

    def said(command):
        fields = before("Bash", command=command)
        return step_workflow.refusal(kept, fields, nobodys, shell)

    assert "ask first" in said(blocked)
    assert (said("git status"), said("echo git push")) == (None, None)


MCP_NAMES = [
    ("mcp__x__y", "x:y"),
    ("mcp__x__y__z", "x:y__z"),
    (f"{OURS}get_task", "hostbridge:get_task"),
    (f"{PLUGINS}get_task", "hostbridge:get_task"),
    ("Read", None),
    ("mcp__x", None),
]


@pytest.mark.parametrize(("tool", "name"), MCP_NAMES)
def test_a_tool_of_mcp_by_server(tool, name):
    assert step_workflow.mcp_name(tool) == name


def concerned(kept: dict[str, Any], fields: dict[str, Any], **variables: Any) -> bool:
    return step_workflow.concerns(kept, fields, lambda: Whose(variables))


def test_only_what_does_something_concerns_a_step():
    kept = record("on_tool: {Bash: {set_variable: {ready: true}}}")

    assert not concerned(kept, after("Read"))
    assert not concerned(kept, prompt())
    assert concerned(kept, after("Bash"))
    assert not concerned(kept, after("Bash", hook_event_name="PostToolUseFailure"))
    assert concerned(kept, after("Read"), ready=True)
    assert concerned(kept, prompt(), ready=True)
    assert concerned({**kept, "untold": [[1, "x"]]}, prompt())
    assert concerned({**kept, "pending": {"call": "x"}}, prompt())
    assert concerned({**kept, "entering": True}, prompt())


def test_an_event_that_was_seen_concerns_nobody_again():
    kept = record("on_tool: {Bash: {set_variable: {ready: true}}}")
    seen = {**kept, "applied": ["PostToolUse t-1"]}

    assert not concerned(seen, after("Bash", call="t-1"))
    assert concerned(seen, after("Bash", call="t-2"))


def test_what_has_ended_or_is_broken_binds_nobody():
    kept = record("blocked_tools: all")

    for other in ({**kept, "status": "ended"}, {**kept, "step": "x"}, {}, {"code": 1}):
        assert step_workflow.step_of(other) is None
        assert step_workflow.refusal(other, before("Edit"), never) is None
        assert not concerned(other, after("Edit"))
        assert step_workflow.stop_refusal(other) is None
