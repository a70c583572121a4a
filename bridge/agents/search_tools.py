"""How an agent with a definition searches files inside Claude Code. Pure.

general-purpose has neither Grep nor Glob, and an agent with Bash loses them (measured
on 2.1.330). A definition that only reads runs on an agent of ours that has both. Any
other prompt says what to use instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.policy.permission_rules import command_specs
from bridge.policy.tool_names import OWN_SERVER, on_host
from bridge.protocol.names import GENERAL

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

SEARCH = frozenset({"Grep", "Glob"})
# The tools of our own agent; see agents/hostbridge-reader.md. With a list that names
# tools of an MCP server an agent has them at once; with ToolSearch alone it would have
# to look for them.
OF_TASKS = frozenset(
    f"{OWN_SERVER}__{name}"
    for name in (
        "get_task", "list_tasks", "list_ready_tasks", "search_memories",
        "get_expansion_spec", "get_validation_status", "get_validation_context_smart",
    )
)  # fmt: skip
READER_TOOLS = SEARCH | {"Read"} | OF_TASKS


def only_reads(definition: Definition) -> bool:
    """Whether reading, searching and looking at tasks is all that it needs."""
    tools = _tools(definition)
    return (
        definition.subagent_type in (None, GENERAL)
        and bool(tools & SEARCH)
        and tools <= READER_TOOLS
    )


def search_note(definition: Definition, *, has_search: bool) -> str | None:
    """What the prompt must say about searching; None if nothing.

    `has_search`: an agent without Bash has Grep and Glob.
    """
    tools = _tools(definition)
    if not tools & SEARCH:
        return None
    if "Bash" in tools:
        return (
            "Grep and Glob are not among your tools here: search with `grep` and "
            f"`find` in Bash, one plain command per call. {_granted(definition)}"
        )
    if has_search:
        return None
    return (
        "Grep and Glob are not among your tools in this session, and no other tool "
        "searches: Read the files that the request names, and those that they lead to. "
        "If that is not enough, say so, and say what you could not search for."
    )


def _tools(definition: Definition) -> set[str]:
    """The tools it names and may call, by the client's names; none if it has all."""
    named = on_host(definition.tools or ())
    return set(named) - set(on_host(definition.blocked_tools))


def _granted(definition: Definition) -> str:
    specs = command_specs(definition.allow)
    if None in specs:
        return "Every other command is granted, too."
    if not specs:
        return "Only commands that just look are granted."
    forms = ", ".join(f"`{spec}`" for spec in specs)
    return f"Besides commands that only look, these forms are granted: {forms}."
