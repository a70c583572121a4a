"""How an agent of a definition searches in a client of Claude Code. Pure.

general-purpose has neither Grep nor Glob, and an agent with Bash loses them (measured
on 2.1.330). A definition that only reads runs on an agent of ours that has both; any
other is told in its prompt what there is instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.policy.permissions import Rule, parse_rule
from bridge.policy.tool_names import on_host
from bridge.protocol.names import GENERAL

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

SEARCH = frozenset({"Grep", "Glob"})
# What our own agent has; see agents/hostbridge-reader.md.
READER_TOOLS = SEARCH | {"Read"}


def only_reads(definition: Definition) -> bool:
    """Whether an agent with Read, Grep and Glob can be all that the definition is."""
    tools = _tools(definition)
    return (
        definition.subagent_type in (None, GENERAL)
        and bool(tools & SEARCH)
        and tools <= READER_TOOLS
    )


def search_note(definition: Definition, *, has_search: bool) -> str | None:
    """What the prompt says of searching; None where nothing is amiss.

    `has_search` is whether Grep and Glob are there when Bash is not.
    """
    tools = _tools(definition)
    if not tools & SEARCH:
        return None
    if "Bash" in tools:
        return (
            "Grep and Glob are not among your tools here: search by `grep` and `find` "
            f"in Bash, a plain command a call. {_granted(definition)}"
        )
    if has_search:
        return None
    return (
        "Grep and Glob are not among your tools in this session, and no other tool "
        "searches: Read the files that the request names and those that they lead to. "
        "Where that does not do, answer so and say what you could not search for."
    )


def _tools(definition: Definition) -> set[str]:
    """The tools it names and may call, by the client's names; none where it has all."""
    named = on_host(definition.tools or ())
    return set(named) - set(on_host(definition.blocked_tools))


def _granted(definition: Definition) -> str:
    rules = [parse_rule(text) for text in definition.allow]
    specs = [
        rule.spec for rule in rules if isinstance(rule, Rule) and rule.tool == "Bash"
    ]
    if None in specs:
        return "Every other command is granted, too."
    if not specs:
        return "No command that does more than look is granted."
    forms = ", ".join(f"`{spec}`" for spec in specs)
    return f"Beside what only looks, these forms of commands are granted: {forms}."
