"""Fields of `tool_input` that the tools of a rule do not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.rules.rule_file import read_rules


def said(rule):
    text = f"on_before_tool:\n  - {rule}\n"
    return [str(p) for p in read_rules(text, Path("rules.yaml"), "user").problems]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (
            '{when: "runs(command, \'pytest\')", block: "{{ tool_input.cmd }}"}',
            (
                "on_before_tool[0].block: tool_input of Bash has no field 'cmd'; "
                "did you mean 'command'?"
            ),
        ),
        (
            "{tools: [Edit, Write], when: tool_input.path == 'x', block: x}",
            (
                "on_before_tool[0].when: tool_input of Edit and Write has no field "
                "'path'; did you mean 'file_path'?"
            ),
        ),
        (
            '{when: \'tool_name in ["Read"] and tool_input.get("lines")\', block: x}',
            "on_before_tool[0].when: tool_input of Read has no field 'lines'",
        ),
        (
            "{tools: Bash, spawn_agent: {agent: a, prompt: '{{ tool_input.comand }}'}}",
            (
                "on_before_tool[0].spawn_agent.prompt: tool_input of Bash has no field "
                "'comand'; did you mean 'command'?"
            ),
        ),
    ],
)
def test_a_field_that_no_tool_of_the_rule_has_is_a_warning(rule, problem):
    (warning,) = said(rule)

    assert f"warning: {problem}" in warning


@pytest.mark.parametrize(
    "rule",
    [
        "{tools: [Edit, Bash], block: '{{ tool_input.command }}'}",
        "{tools: mcp__db__query, block: '{{ tool_input.sql }}'}",
        "{tools: 'mcp__*', when: tool_input.sql, block: x}",
        "{block: '{{ tool_input.sql }}'}",
        "{when: not tool_name == 'Bash' and tool_input.sql, block: x}",
        "{tools: Bash, block: '{{ tool_input }}'}",
    ],
)
def test_tools_that_nobody_knows_may_have_any_field(rule):
    assert said(rule) == []
