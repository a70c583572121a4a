"""Which tools a step allows and refuses: lists of names and globs, as compiled.

`server:tool` names a tool of MCP in the lists about servers. Public files spread our
own tools over several servers, `x-tasks:get_task`: those are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import Place, describe, did_you_mean
from bridge.policy import tool_names
from bridge.policy.step_workflow import OWN_SERVER
from bridge.workflows.own_tools import is_own_server, own_tools

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree

ALL = ("all", "*")


def tools_in(tree: Tree, place: Place, value: Any) -> list[str] | None:
    """Names and globs of tools, the client's way; None for all of them."""
    if value is None or value in ALL:
        return None
    found = []
    for name, at in _names(tree, place, value):
        if name in ALL:
            return None
        _check_tool(tree, at, name)
        found.append(name)
    return list(tool_names.on_host(tuple(found)))


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
    """One `server:tool`; None, with its problem in the tree, if it is none."""
    server, mark, tool = name.partition(":")
    if name.startswith("mcp__"):
        server, mark, tool = name.removeprefix("mcp__").partition("__")
    if not mark or not server or not tool:
        tree.error(place, f"expected server:tool, got {name!r}")
        return None
    if not is_own_server(server):
        return f"{server}:{tool}"
    if tool not in own_tools() and "*" not in tool:
        hint = did_you_mean(tool, own_tools())
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
        hint = did_you_mean(name, tool_names.KNOWN)
        if hint:
            tree.error(place, f"there is no tool {name!r}{hint}")
        else:
            tree.warn(place, f"unknown tool {name!r}")
