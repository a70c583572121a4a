"""Lint a definition: valid settings that are probably mistakes, each at its place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from bridge.policy.grant_description import is_wide, what_it_lets
from bridge.policy.permission_rules import Rule, command_specs, is_about, parse_rule
from bridge.policy.tool_names import on_host

# What agents are often to run. Words of English, such as make, are not among them.
_CHECKS = ("pytest", "ruff", "mypy", "npm", "cargo", "eslint", "tox", "tsc")

if TYPE_CHECKING:
    from bridge.agents.definition import AgentFields, Definition
    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_source import Tree


def lint(agent: AgentFields, tree: Tree, routes: Collection[str]) -> None:
    """Warn of grants that are too wide or useless, and of impossible evidence."""
    if agent.allow and agent.tools is None:
        message = "without `tools` it may call every tool of its route; list its tools"
        tree.warn(("allow",), message)
    tools = None if agent.tools is None else on_host(agent.tools)
    blocked = on_host(agent.blocked_tools)
    for place, rule in _rules(agent.allow):
        _warn_of_width(rule, place, tree)
        # Only the session knows which tools a server has.
        if rule.tool.startswith("mcp__"):
            continue
        if tools is not None and not any(is_about(rule, tool) for tool in tools):
            tree.warn(place, f"grants nothing: {rule.tool} is not in `tools`")
        elif rule.tool in blocked:
            tree.warn(place, f"grants nothing: {rule.tool} is in `blocked_tools`")
    if agent.require_verified_evidence and (
        why := _why_no_command(agent, tools, blocked)
    ):
        tree.warn(("require_verified_evidence",), why)
    elif why := why_bash_is_idle(tools, blocked, agent.allow, routes, words_of(agent)):
        tree.warn(("mode" if agent.tools is None else "tools",), why)


def why_bash_is_idle(
    tools: Collection[str] | None,
    blocked: Collection[str],
    allow: Iterable[str],
    routes: Collection[str],
    words: str,
) -> str | None:
    """Why the agent can hardly run a command; None if it can, or need not.

    Its own `words` suggest which grants it needs. Tools have the client's names. An
    agent with every tool is expected to run commands if it is a process of its own,
    where nobody can approve a call.
    """
    is_named = tools is not None and "Bash" in tools
    is_expected = is_named or (tools is None and tuple(routes) == ("claude",))
    if not is_expected or "Bash" in blocked or command_specs(allow):
        return None
    named = [each for each in _CHECKS if re.search(rf"\b{each}\b", words)]
    grants = ", ".join(f'"Bash({each} *)"' for each in named or _CHECKS[:1])
    return (
        "no rule in `allow` grants a command, and nobody can approve one: only "
        "commands that just look, or that your own settings allow, will run. Grant "
        f"what it needs, such as allow: [{grants}]"
    )


def words_of(agent: AgentFields | Definition) -> str:
    """What an agent is for, in its own words."""
    return f"{agent.description} {agent.prompt or ''}"


def lint_script_grants(allow: Iterable[str], tree: Tree) -> None:
    """Warn of grants that are too wide, or that no script can use."""
    for place, rule in _rules(allow):
        _warn_of_width(rule, place, tree)
        if rule.tool != "Bash":
            tree.warn(place, "grants nothing: its scripts can only run commands")


def _warn_of_width(rule: Rule, place: Place, tree: Tree) -> None:
    if rule.tool == "Bash" and rule.spec is None:
        message = "grants every command; name them, such as Bash(pytest *)"
        tree.warn(place, message)
    if is_wide(rule):
        tree.warn(
            place,
            f"lets it run {what_it_lets(rule)}; to allow only some options, list them: "
            + _example(rule),
        )


def _example(rule: Rule) -> str:
    """A rule for the same program that names its options."""
    words = (rule.spec or "pytest").split("*")[0].strip() or "pytest"
    options = {"pytest": "-q --tb=*", "git": "--stat --cached"}
    return f"Bash({words} [{options.get(words.split()[0], '--some-option')}] *)"


def _rules(allow: Iterable[str]) -> Iterator[tuple[Place, Rule]]:
    """The valid rules; `check_rules` complains of the others."""
    for position, text in enumerate(allow):
        rule = parse_rule(text)
        if isinstance(rule, Rule):
            yield ("allow", position), rule


def _why_no_command(
    agent: AgentFields, tools: tuple[str, ...] | None, blocked: tuple[str, ...]
) -> str | None:
    """Why no command can be evidence; None if one can."""
    if "Bash" in blocked:
        return "it cannot run a command to verify: Bash is in `blocked_tools`"
    if tools is not None and "Bash" not in tools:
        return "it cannot run a command to verify: Bash is not in `tools`"
    if not command_specs(agent.allow):
        return (
            "no rule in `allow` grants a command to verify: only commands that the "
            "session's own settings allow will run"
        )
    return None
