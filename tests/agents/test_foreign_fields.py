"""Agents as another program writes them: what is read here, and what is refused."""

# ruff: noqa: E501 - whole messages, one a line

import pytest

FOREIGN = """\
    name: fixer
    version: "2.0"
    enabled: true
    role: You mend.
    instructions: "Mend {{ it }}.\\n"
    provider: codex
    model: gpt-9
    priority: 20
    isolation: none
    base_branch: main
    timeout: 0
    max_turns: 0
    surfaces: [spawn, persona]
    sources: [claude, other]
    sandbox: null
    blocked_mcp_tools: ["x-agents:kill_agent", "github:*"]
    workflows:
      rule_selectors: {include: ["tag:safe"]}
      skill_selectors: {include: []}
      variables: {}
"""


def test_an_agent_in_another_programs_form(world):
    """What only describes is a warning at its place; the rest means what it did."""
    found = world.load("fixer.yaml", FOREIGN)

    blocked = "mcp__hostbridge__cancel_agent, mcp__github__*"
    assert [str(p).partition("fixer.yaml:")[2] for p in found.problems] == [
        "2: warning: version: a string ('2.0') is not ours, ignored",
        "3: warning: enabled: a boolean (True) is not ours, ignored",
        "6: warning: provider: a string ('codex') is not ours, ignored",
        "7: warning: model: a string ('gpt-9') is not ours, ignored",
        "8: warning: priority: an integer (20) is not ours, ignored",
        "9: warning: isolation: a string ('none') is not ours, ignored",
        "10: warning: base_branch: a string ('main') is not ours, ignored",
        "11: warning: timeout: an integer (0) is not ours, ignored",
        "12: warning: max_turns: an integer (0) is not ours, ignored",
        "13: warning: surfaces: a list is not ours, ignored",
        "14: warning: sources: a list is not ours, ignored",
        f"16: warning: blocked_mcp_tools: read as blocked_tools: [{blocked}]",
        "18: warning: workflows.rule_selectors: a mapping is not ours, ignored",
        "19: warning: workflows.skill_selectors: a mapping is not ours, ignored",
    ]
    agent = found.definition
    assert (
        agent.system_prompt == "## Role\nYou mend.\n\n## Instructions\nMend {{ it }}."
    )
    assert agent.blocked_tools == ("mcp__hostbridge__cancel_agent", "mcp__github__*")
    assert (agent.provider, agent.model, agent.workflows) == (None, None, {})


ELSEWHERE = {
    "enabled: false": "enabled: unknown field",
    "instructions: a\nprompt: b": "instructions: an agent has `prompt` or instructions: write it into `prompt`",
    "goal: [a]": "goal: expected a string, got a list",
    "provider: locla": "provider: expected 'claude', 'local' or 'endpoint'",
    "provider: [codex]": "provider: expected 'claude', 'local' or 'endpoint'",
    "model: sonet": "model: expected one of",
    "priority: true": "priority: expected 'high', 'normal' or 'low'",
    "isolation: clone": "isolation: unknown field",
    "isolation: worktree": "isolation: unknown field",
    "surfaces: [persona]": "surfaces: unknown field",
    "sandbox: {enabled: true}": "sandbox: unknown field",
    "skills: {all: [a]}": "skills: unknown field",
    "rule_definitions: {}\nmodel: opus": "rule_definitions: unknown field",
    "blocked_mcp_tools: a:b": "blocked_mcp_tools: expected a list, got",
    "blocked_mcp_tools: [a]": "blocked_mcp_tools[0]: expected server:tool, got",
    "blocked_mcp_tools: [1]": "blocked_mcp_tools[0]: expected server:tool, got",
    "workflows: {rules: [a]}": "workflows.rules: expected a mapping, got a list",
    "workflows: {rules: 1}": "workflows.rules: expected a mapping, got an integer",
}


@pytest.mark.parametrize("line", ELSEWHERE)
def test_error_what_changes_an_agent_elsewhere(world, line):
    """Nothing that binds an agent is dropped."""
    found = world.load("a.yaml", f"name: a\n{line}\n")

    [error] = found.errors
    assert str(error).partition(" ")[2].startswith(ELSEWHERE[line])
    assert error.line == 2


def test_error_rules_in_another_programs_form(world):
    found = world.load("tidy.yaml", "rules: {tidy: {event: stop}}\n")

    [problem] = found.problems
    assert problem.message.startswith("this is a file of rules in another form, not an")
