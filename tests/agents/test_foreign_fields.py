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

    usual = "changes nothing: every agent here is so"
    assert [str(p).partition("fixer.yaml:")[2] for p in found.problems] == [
        "2: warning: version: means nothing here",
        "3: warning: enabled: means nothing here: an agent that is there is on",
        "6: warning: provider: 'codex' is no provider here: `routes` says who answers; by default all may",
        "7: warning: model: 'gpt-9' is no model here: the model is that of the route which answers; there are haiku, sonnet, opus, fable, GGUF files and openai:NAME",
        "8: warning: priority: orders nothing here: `priority` is high, normal or low, of a request",
        f"9: warning: isolation: {usual}",
        f"10: warning: base_branch: {usual}",
        "11: warning: timeout: 0 is no limit here: the usual one counts",
        "12: warning: max_turns: 0 is no limit here: the usual one counts",
        f"13: warning: surfaces: {usual}",
        f"14: warning: sources: {usual}",
        f"15: warning: sandbox: {usual}",
        "16: warning: blocked_mcp_tools: read as blocked_tools: [mcp__hostbridge__cancel_agent, mcp__github__*]",
        "18: warning: workflows.rule_selectors: rules have no tags here: all of rules.yaml bind it; what others block goes there",
    ]
    agent = found.definition
    assert (
        agent.system_prompt == "## Role\nYou mend.\n\n## Instructions\nMend {{ it }}."
    )
    assert agent.blocked_tools == ("mcp__hostbridge__cancel_agent", "mcp__github__*")
    assert (agent.provider, agent.model, agent.workflows) == (None, None, {})


ELSEWHERE = {
    "enabled: false": "enabled: an agent cannot be switched off here: move the file elsewhere, or take this out to have it",
    "instructions: a\nprompt: b": "instructions: an agent has `prompt` or instructions: write it into `prompt`",
    "goal: [a]": "goal: expected a string, got a list",
    "provider: locla": "provider: expected 'claude', 'local' or 'endpoint'",
    "provider: [codex]": "provider: expected 'claude', 'local' or 'endpoint'",
    "model: sonet": "model: expected one of",
    "priority: true": "priority: expected 'high', 'normal' or 'low'",
    "isolation: clone": "isolation: an agent has no isolation here: a pipeline's",
    "isolation: worktree": "isolation: an agent has no isolation here: a pipe",
    "surfaces: [persona]": "surfaces: an agent has no surfaces here: `routes`",
    "sandbox: {enabled: true}": "sandbox: an agent has no sandbox here: what",
    "skills: {all: [a]}": "skills: an agent has no skills here: an agent loads",
    "rule_definitions: {}\nmodel: opus": "rule_definitions: an agent has no rule_",
    "blocked_mcp_tools: a:b": "blocked_mcp_tools: expected a list, got",
    "blocked_mcp_tools: [a]": "blocked_mcp_tools[0]: expected server:tool, got",
    "blocked_mcp_tools: [1]": "blocked_mcp_tools[0]: expected server:tool, got",
    "workflows: {rules: [a]}": "workflows.rules: this is no workflow; the rules that bind an agent are in",
    "workflows: {rules: 1}": "workflows.rules: this is no workflow; the rules that bind an agent are in",
    "workflows: {variables: {a: false}}": "workflows.variables: this is no workflow; write them into",
    "workflows: {skill_selectors: {include: [a]}}": "workflows.skill_selectors: this is no workflow; say in `prompt`",
}


@pytest.mark.parametrize("line", ELSEWHERE)
def test_error_what_changes_an_agent_elsewhere(world, line):
    """One error, with what to write here; nothing that binds is dropped."""
    found = world.load("a.yaml", f"name: a\n{line}\n")

    [error] = found.errors
    assert str(error).partition(" ")[2].startswith(ELSEWHERE[line])
    assert error.line == 2


def test_error_rules_in_another_programs_form(world):
    found = world.load("tidy.yaml", "rules: {tidy: {event: stop}}\n")

    [problem] = found.problems
    assert problem.message.startswith("this is a file of rules in another form, not an")
