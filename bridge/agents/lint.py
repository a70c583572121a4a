"""What a definition may say, and hardly means: warnings, each at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.policy.command_options import GRAMMAR
from bridge.policy.grant_description import is_wide, what_it_lets
from bridge.policy.permissions import Rule, is_about, parse_rule
from bridge.policy.tool_names import on_host

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_agent import AgentFile
    from bridge.agents.yaml_source import Tree

_EVERY_COMMAND = "grants every command; say which, such as Bash(pytest *)"


def warn_of_oddities(told: AgentFile, tree: Tree, routes: Collection[str]) -> None:
    """Warn of grants that are too wide or idle, and of evidence that nobody can give.

    Rules that mean nothing are complained of elsewhere.
    """
    if told.allow and told.tools is None:
        message = "without `tools` it has every tool of its route; name what it needs"
        tree.warn(("allow",), message)
    tools = None if told.tools is None else on_host(tuple(told.tools))
    blocked = on_host(tuple(told.blocked_tools))
    for position, rule in _rules(told.allow):
        place = ("allow", position)
        if _is_any_command(rule):
            tree.warn(place, _EVERY_COMMAND)
        _warn_of_every_option(rule, place, tree)
        # Which tools of a server there are, only the session knows.
        if rule.tool.startswith("mcp__"):
            continue
        if tools is not None and not any(is_about(rule, tool) for tool in tools):
            tree.warn(place, f"grants nothing: no tool of `tools` is {rule.tool}")
        elif rule.tool in blocked:
            tree.warn(place, f"grants nothing: {rule.tool} is in `blocked_tools`")
    if told.require_verified_evidence and (why := _no_command(told, tools, blocked)):
        tree.warn(("require_verified_evidence",), why)
    elif idle := idle_bash(tools, blocked, told.allow, routes):
        field = "tools" if told.tools is not None else "mode"
        tree.warn((field,), idle)


def idle_bash(
    tools: Collection[str] | None,
    blocked: Collection[str],
    allow: Iterable[str],
    routes: Collection[str],
) -> str | None:
    """Why the agent will hardly run a command; None where it may, or is not meant to.

    Tools are named as the client does. One with every tool is meant to run commands
    where it is to be a process of its own: nobody is there to ask.
    """
    is_named = tools is not None and "Bash" in tools
    is_meant = is_named or (tools is None and tuple(routes) == ("claude",))
    if not is_meant or "Bash" in blocked:
        return None
    if any(rule.tool == "Bash" for _, rule in _rules(allow)):
        return None
    return (
        "no rule of `allow` grants a command, and nobody is asked: each is denied but "
        "what only looks, or your own settings allow. Write which it may run, such as "
        'allow: ["Bash(pytest *)"]'
    )


def warn_of_idle_grants(allow: Iterable[str], tree: Tree) -> None:
    """Warn of grants that are too wide, or idle, where only scripts could use them."""
    for position, rule in _rules(allow):
        if _is_any_command(rule):
            tree.warn(("allow", position), _EVERY_COMMAND)
        _warn_of_every_option(rule, ("allow", position), tree)
        if rule.tool != "Bash":
            message = "grants nothing: its scripts run commands, and no other tool"
            tree.warn(("allow", position), message)


def _warn_of_every_option(rule: Rule, place: Place, tree: Tree) -> None:
    if is_wide(rule):
        tree.warn(
            place,
            f"lets it run {what_it_lets(rule)}; to name the options that it needs: "
            f"{GRAMMAR.partition(', as ')[2]}",
        )


def _rules(allow: Iterable[str]) -> Iterator[tuple[int, Rule]]:
    for position, text in enumerate(allow):
        rule = parse_rule(text)
        if isinstance(rule, Rule):
            yield position, rule


def _is_any_command(rule: Rule) -> bool:
    return rule.tool == "Bash" and rule.spec is None


def _no_command(
    told: AgentFile, tools: tuple[str, ...] | None, blocked: tuple[str, ...]
) -> str | None:
    """Why no command could be evidence; None where one could."""
    if "Bash" in blocked:
        return "it can run no command to verify: Bash is in `blocked_tools`"
    if tools is not None and "Bash" not in tools:
        return "it can run no command to verify: no tool of `tools` is Bash"
    if not any(rule.tool == "Bash" for _, rule in _rules(told.allow)):
        return (
            "no rule of `allow` grants a command to verify: none runs but what the "
            "session's own settings allow"
        )
    return None
