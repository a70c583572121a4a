"""Which classes of tools a rule can be about: too few would lose it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.policy.condition_compiler import compile_condition
from bridge.policy.rule_set import Whose, concerns, fires, scope_of
from bridge.policy.tool_classes import CLASSES, class_of, matcher_of
from bridge.rules.signs import classes_of

CONDITIONS = {
    'tool_name == "Bash" and "pytest" in command': "bash",
    'runs(command, "pytest")': "bash",
    '"pytest" in command': "bash",
    'command.startswith("git push")': "bash",
    'tool_input.command.startswith("git push")': "bash edit read agent other",
    'tool_name in ["Edit", "Write"] and not variables.task': "edit",
    'tool_name == "Bash" or tool_name == "TodoWrite"': "bash other",
    'tool_name == "Monitor"': "bash",
    'tool_name.startswith("mcp__")': "other",
    'tool_name != "Bash"': "bash edit read agent other",
    'not tool_name in ["Bash", "Read"]': "bash edit read agent other",
    "depth > 0": "bash edit read agent other",
    "false": "",
    'matches(tool_name, "mcp__git__*")': "other",
    '"Bash" == tool_name': "bash other",
    "command < 3": "bash",
    "tool_input.file_path.endswith('.lock')": "bash edit read agent other",
}


@pytest.mark.parametrize(("when", "wanted"), CONDITIONS.items(), ids=list(CONDITIONS))
def test_a_condition_is_about_these_tools(when, wanted):
    assert " ".join(classes_of({"when": compile_condition(when).code})) == wanted


TOOLS = {
    ("Bash",): "bash",
    ("Edit", "mcp__git__push"): "edit other",
    ("mcp__*",): "other",
    ("m*",): "other",
    ("*",): "bash edit read agent other",
    ("Task*",): "agent other",
    ("Web*",): "other",
}


@pytest.mark.parametrize(("tools", "wanted"), TOOLS.items(), ids=map(str, TOOLS))
def test_named_tools_are_in_these_classes(tools, wanted):
    assert " ".join(classes_of({"tools": list(tools)})) == wanted


def test_a_broken_rule_is_about_all_it_may_be_about():
    assert classes_of({"broken": "x"}) == list(CLASSES)
    assert classes_of({"broken": "x", "tools": ["Bash"]}) == ["bash"]


NAMES = ["Bash", "Monitor", "PowerShell", "Edit", "Read", "Agent", "Task", "mcp__a__b"]
NAMES += ["WebFetch", "TodoWrite"]


@pytest.mark.parametrize("tool", NAMES)
def test_every_tool_has_one_entry(tool):
    """As the client matches: names as they are, anything else as a pattern."""
    found = [name for name in CLASSES if re.fullmatch(matcher_of(name), tool)]

    assert found == [class_of(tool)]


@given(
    st.sampled_from(list(CONDITIONS)),
    st.sampled_from(NAMES),
    st.sampled_from([None, "pytest", "git push"]),
)
def test_no_rule_fires_where_its_sign_is_missing(when, tool, command):
    rule = {"name": "r", "layer": "user", "file": "f", "line": 1, "block": "x"}
    rule["when"] = compile_condition(when).code
    tool_input = {"file_path": "a.lock"}
    if command is not None and class_of(tool) in {"bash", "other"}:
        tool_input["command"] = command
    whose = Whose({})
    scope = scope_of({"tool_name": tool, "tool_input": tool_input}, whose)
    functions = {"runs": lambda *_: True, "words": lambda _: []}

    if concerns(rule, scope, whose) and fires(rule, scope, functions):
        assert class_of(tool) in classes_of(rule)
