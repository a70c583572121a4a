"""Have an agent design a flow: what cannot run goes back to it, with what is wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.plugin_agents import plugin_agents
from bridge.agents.registry import Registry
from bridge.api.flow_files import Flows
from bridge.errors import BridgeError
from bridge.flow.problems import InvalidFlow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.api.bridge import Bridge
    from bridge.api.result import Result

DESIGNER = "flow-designer"
MAX_TRIES = 3
# Models put one around what they write, whatever they are told.
_FENCED = re.compile(r"\s*```\w*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.S)


class TriedFlow(NamedTuple):
    """A flow that was designed; `problems`, as `hostbridge flow check` shows them."""

    flow: str
    notes: str
    problems: str
    result: Result[Any]


def design(bridge: Bridge, wish: str, **options: Any) -> Iterator[TriedFlow]:
    """Ask for a flow, and again while it cannot run; `options` are those of `ask`.

    Nothing of it is run. Raises as `Bridge.ask`.
    """
    flows = Flows(bridge.settings, bridge.store.place.project)
    arguments: dict[str, Any] = {"agents": _agents(bridge), "flows": _flows(flows)}
    for _ in range(MAX_TRIES):
        result = bridge.ask(wish, DESIGNER, arguments=arguments, **options)
        tried = _tried(flows, result)
        yield tried
        if not tried.problems:
            return
        arguments |= {"last": tried.flow, "problems": tried.problems}


def _tried(flows: Flows, result: Result[Any]) -> TriedFlow:
    answer = result.parsed if isinstance(result.parsed, dict) else {}
    if not isinstance(text := answer.get("flow"), str):
        raise BridgeError(f"the agent {DESIGNER!r} answered without a field `flow`")
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1]
    text = text.strip() + "\n"
    problems = ""
    try:
        flows.checked(text, None, flows.around())
    except InvalidFlow as error:
        problems = str(error)
    return TriedFlow(text, str(answer.get("notes", "")), problems, result)


def _agents(bridge: Bridge) -> list[str]:
    """The agents with a definition, and those of plugins."""
    project = bridge.store.place.project
    entries = Registry.open(bridge.settings, project).entries()
    found = [
        f"{entry.loaded.name}: {entry.loaded.definition.description.strip()}"
        for entry in entries
        if entry.is_used and entry.is_trusted and entry.loaded.definition
        if entry.loaded.name != DESIGNER
    ]
    return [*found, *plugin_agents(bridge.settings.claude_dir, project)]


def _flows(flows: Flows) -> list[str]:
    """The flows that can be called: what they are for, and their parameters."""
    return [
        f"{each.name}({', '.join(each.inputs)}): {each.description}"
        for each in flows.known()
        if each.trusted and not each.wrong
    ]
