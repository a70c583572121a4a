"""What other programs' pipelines and step workflows say: `foreign.yaml`.

    mcp: {server: X-agents, tool: spawn_agent, arguments: {agent, prompt, …}}

Only the last word of a server's name counts. The tools of `-tasks` and `-memory` are
those of our own table; the others are kinds of steps.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.agents.diagnostic import did_you_mean_tool
from bridge.agents.yaml_source import read_tree
from bridge.hints import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_source import Tree

    Json = dict[str, Any]

Meant = Literal["agent", "wait", "set", "fail", "pipeline", "worktree"]
_FILE = Path(__file__).with_name("foreign.yaml")
_TABLES = frozenset({"tasks", "memory"})


class Foreign(NamedTuple):
    """What a tool is here.

    Attributes:
        kind: the kind of step.
        renamed: what its arguments are called here; empty for one that means nothing.
        action: of a worktree.
    """

    kind: Meant
    renamed: Mapping[str, str]
    action: str = ""


@cache
def _all() -> Any:
    return read_tree(_FILE.read_text("utf-8"), _FILE).value


def foreign(part: str) -> Mapping[str, Any]:
    """A part of the file."""
    found: Mapping[str, Any] = _all()[part]
    return found


def without_foreign(tree: Tree, place: Place, value: Json, kind: str) -> Json:
    """The fields of a workflow or a step, but for those that are obeyed elsewhere."""
    elsewhere = foreign(f"of_a_{kind}")
    what = f"a {'step workflow' if kind == 'workflow' else kind} has no"
    for name in sorted(elsewhere.keys() & value.keys()):
        tree.error((*place, name), f"{what} {name}; {elsewhere[name]}")
    return {key: each for key, each in value.items() if key not in elsewhere}


def _step(said: Mapping[str, Any]) -> Foreign:
    ignored = dict.fromkeys(said.get("ignored", ()), "")
    return Foreign(
        said["kind"], {**said["arguments"], **ignored}, said.get("action", "")
    )


def foreign_step(server: str | None, tool: str) -> Foreign | str | None:
    """The step that a tool is; None for one of our table, a text if there is none.

    Without a server any of them is meant.
    """
    known = foreign("tools")
    if server is None:
        every = {name: each for tools in known.values() for name, each in tools.items()}
        return _step(every[tool]) if tool in every else None
    room = server.removesuffix("-ops").rpartition("-")[2]
    if room in _TABLES:
        return None
    if room not in known:
        servers = ", ".join(f"-{each}" for each in sorted({*known, *_TABLES}))
        return (
            f"no server {server!r} is known here{did_you_mean(room, known)}; a step "
            f"can name those that end in {servers}; the tools of others are for agents"
        )
    if tool not in known[room]:
        there = f"; there are {', '.join(known[room])}"
        hint = did_you_mean_tool(tool, known[room]) or there
        return f"{server} has no tool {tool!r} here{hint}"
    return _step(known[room][tool])
