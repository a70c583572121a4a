"""Which tools a step allows and refuses, as compiled, and those of ours that it calls.

`server:tool` names a tool of MCP in the lists about servers. Public files spread our
own tools over several servers, `x-tasks:get_task`: those are ours.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import Place, describe, did_you_mean_tool
from bridge.agents.fields import check_tool
from bridge.policy import tool_names
from bridge.policy.step_workflow import OWN_SERVER

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree

# Those of agents and variables; a step calls none of them, but for spawn_agent.
OF_AGENTS = frozenset({
    "start_agent", "spawn_agent", "wait_for_agent", "cancel_agent", "status",
    "get_variables", "set_variables", "run_flow", "wait_for_flow", "cancel_flow",
    "validate_change", "build_and_validate",
})  # fmt: skip
STARTERS = (
    "start_agent", "spawn_agent", "run_flow", "validate_change", "build_and_validate",
)  # fmt: skip
SPAWNS = frozenset({"spawn_agent", "start_agent"})


def callable_tools() -> frozenset[str]:
    """The tools that a step can call: those of tasks."""
    from bridge.tasks.tool_table import TOOLS

    return frozenset(TOOLS)


def wrong_arguments(tool: str, arguments: Collection[str]) -> dict[str, str]:
    """What is wrong with the arguments of a call, by name; those it lacks by none."""
    from bridge.tasks.tool_table import TOOLS

    return TOOLS[tool].wrong_names(arguments)


def own_tools() -> frozenset[str]:
    """Every tool of ours that a model can call."""
    return callable_tools() | OF_AGENTS


def near_tool(name: str, known: Collection[str] | None = None) -> str:
    """`; did you mean …?` of our tools: one that others call so, or a similar one."""
    from bridge.tasks.tool_table import ELSEWHERE

    if meant := ELSEWHERE.get(name):
        return f"; did you mean {meant!r}?"
    return did_you_mean_tool(name, own_tools() if known is None else known)


ALL = ("all", "*")
# What does the same as a tool, by another name: to refuse one is to refuse them all.
_ALIKE = {
    "Agent": tuple(f"{tool_names.OWN_SERVER}__{name}" for name in STARTERS),
    "Bash": ("Monitor", "PowerShell", "Skill"),
    "Edit": ("MultiEdit",),
}


def tools_in(tree: Tree, place: Place, value: Any) -> list[str] | None:
    """Names and globs of tools, the client's way; None for all of them."""
    if value is None or value in ALL:
        return None
    found = []
    for name, at in _names(tree, place, value):
        if name in ALL:
            return None
        if name in own_tools():
            found.append(_own_name(name))
            continue
        _check_tool(tree, at, name)
        found.append(_whole_server(tool_names.of_own_server(name)))
    return list(tool_names.on_host(tuple(found)))


def refused_in(tree: Tree, place: Place, value: Any, allowed: Any) -> list[str]:
    """Names and globs of refused tools, with those that do the same.

    One of those that the step allows by its name stays allowed.
    """
    if is_all(value):
        return ["*"]
    found = tools_in(tree, place, value) or []
    named = allowed if isinstance(allowed, list) else [allowed]
    alike = [each for name in found for each in _ALIKE.get(name, ())]
    return [*found, *(each for each in alike if each not in (*named, *found))]


def is_all(value: Any) -> bool:
    """Whether a list is about every tool."""
    return value in ALL or (
        isinstance(value, list) and any(each in ALL for each in value)
    )


def _whole_server(name: str) -> str:
    """The glob of a server's tools, as definitions name a server: `mcp__server`."""
    server = name.removeprefix("mcp__")
    is_server = server != name and "__" not in server and "*" not in server
    return f"{name}__*" if is_server else name


def _own_name(name: str) -> str:
    """A tool of ours as the client calls it."""
    called = "start_agent" if name == "spawn_agent" else name
    return f"{tool_names.OWN_SERVER}__{called}"


def refused_servers_in(tree: Tree, place: Place, value: Any) -> list[str]:
    """The same of refused ones: also those of ours that others' tools are a part of."""
    if is_all(value):
        return ["*"]
    found = servers_in(tree, place, value) or []
    parts = {f"{OWN_SERVER}:{a}": b for a, b in tool_names.WITHIN.items()}
    whole = (f"{OWN_SERVER}:{parts[each]}" for each in found if each in parts)
    return [*found, *whole]


def servers_in(tree: Tree, place: Place, value: Any) -> list[str] | None:
    """Names and globs of tools of MCP as `server:tool`; None for all of them."""
    if value is None or value in ALL:
        return None
    found = []
    for name, at in _names(tree, place, value):
        if name in ALL:
            return None
        mapped = server_tool(tree, at, name)
        if mapped is not None:
            found.append(mapped)
    return found


def server_tool(tree: Tree, place: Place, name: str) -> str | None:
    """One `server:tool`; None, with its problem in the tree, if it is not one."""
    name = tool_names.of_own_server(name)
    server, mark, tool = name.partition(":")
    if name.startswith("mcp__"):
        server, mark, tool = name.removeprefix("mcp__").partition("__")
    if not mark or not server or not tool:
        tree.error(place, f"expected server:tool, got {name!r}")
        return None
    if not tool_names.is_own_server(server):
        # A call is read up to the first `__`, wherever the server's name ends.
        return ":".join(f"{server}__{tool}".split("__", 1))
    tool = tool_names.OURS.get(tool, tool)
    if tool not in own_tools() and "*" not in tool:
        hint = near_tool(tool)
        tree.warn(place, f"hostbridge has no tool {tool!r}{hint}")
    return f"{OWN_SERVER}:{tool}"


def _names(tree: Tree, place: Place, value: Any) -> list[tuple[str, Place]]:
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list):
        tree.error(place, f"expected all, or names of tools, got {describe(value)}")
        return []
    found = []
    for position, name in enumerate(named):
        at = (*place, position) if isinstance(value, list) else place
        if not isinstance(name, str) or not name:
            tree.error(at, f"expected the name of a tool, got {describe(name)}")
        else:
            found.append((name, at))
    return found


def _check_tool(tree: Tree, place: Place, name: str) -> None:
    if "|" in name:
        tree.error(place, f"{name!r}: write [{name.replace('|', ', ')}]")
    elif "(" in name:
        tree.error(
            place, f"{name!r}: name the whole tool; the rest is a rule of the step"
        )
    elif not tool_names.is_known(name) and "*" not in name:
        check_tool(tree, place, name)
