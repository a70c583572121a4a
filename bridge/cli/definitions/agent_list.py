"""Everything that can be asked, one line each: defined, or known to Claude Code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.agent_names import CLIENT_LAYERS
from bridge.agents.known_agents import BUILT_IN, CLIENT_ROUTES, Agents
from bridge.agents.plugin_agents import plugin_agents
from bridge.agents.registry import Entry, Registry
from bridge.cli.common.output import counted, visible
from bridge.cli.definitions.definition_text import entry_value, problem_lines
from bridge.cli.screen.screen import Line, Style, Styled, wrapped
from bridge.cli.screen.table import Column, table
from bridge.config import Settings
from bridge.engine.run_ids import LIVE
from bridge.engine.temporary import load_agent, runs_with_agents
from bridge.errors import BridgeError
from bridge.protocol.names import GENERAL, TEMPORARY
from bridge.routes import OWN, REMOTE
from bridge.workflows.own_steps import entries_with_steps

if TYPE_CHECKING:
    from bridge.engine.run import Run
    from bridge.store.store import Store

_COLUMNS = (
    Column("AGENT"),
    Column("FROM", least=8),
    Column("ROUTES", least=6, spare=1),
    Column("WHAT IT IS", least=20),
)
_ALL = ("host", *(route for route in OWN if route != REMOTE))
_PLACES = {
    "project": ".bridge",
    "user": "~/.hostbridge",
    "claude-project": ".claude",
    "claude-user": "~/.claude",
}


class ListedAgent(NamedTuple):
    """One line: an agent, where it comes from, its routes, what is to be known of it.

    `value` is the same as JSON.
    """

    name: str
    place: str
    routes: tuple[str, ...]
    words: str
    value: dict[str, Any]
    problems: tuple[str, ...] = ()
    style: Style | None = None


def all_agents(registry: Registry, settings: Settings) -> list[ListedAgent]:
    """Definitions, plugins' agents and the client's own; by name, what wins first."""
    entries = entries_with_steps(Agents(registry))
    used = {entry.loaded.name: entry for entry in entries if entry.is_used}
    found = [_defined(entry, used) for entry in entries]
    plugins = plugin_agents(settings.claude_dir, registry.project)
    found += [
        _clients(name, f"plugin {name.partition(':')[0]}", used, file)
        for name, file in plugins.items()
    ]
    found += [_clients(name, "Claude Code", used) for name in sorted(BUILT_IN)]
    return sorted(found, key=lambda listed: listed.name)


def temporary_agents(store: Store, registry: Registry) -> Iterator[ListedAgent]:
    """The agents of the flows that run now."""
    runs: list[tuple[Run, list[str]]] = []
    with suppress(BridgeError):
        runs = runs_with_agents(store)
    for run, names in runs:
        for name in names if run["status"] in LIVE else ():
            with suppress(BridgeError):
                found = _defined(_temporary(registry, store, run, name), {})
                own = {"name": TEMPORARY + name, "layer": "run", "run": run["run"]}
                value = found.value | own
                yield found._replace(name=own["name"], place="flow", value=value)


def find_temporary(store: Store, registry: Registry, name: str) -> Entry | None:
    """The temporary agent of the newest run that has one of this name."""
    name = name.removeprefix(TEMPORARY)
    for run, names in runs_with_agents(store):
        if name in names:
            return _temporary(registry, store, run, name)
    return None


def _temporary(registry: Registry, store: Store, run: Run, name: str) -> Entry:
    _, loaded, _ = load_agent(store, registry.home, run["run"], name)
    return Entry(Agents(registry).whole(loaded), is_trusted=True)


def _defined(entry: Entry, used: Mapping[str, Entry]) -> ListedAgent:
    loaded, definition = entry.loaded, entry.loaded.definition
    routes: tuple[str, ...] = ()
    style: Style | None = "yellow"
    if not entry.is_used:
        words, style = _hidden_by(used[loaded.name]), "dim"
    elif definition is None:
        words = f"cannot be used: {counted(len(loaded.errors), 'error')}"
        style = "red"
    elif entry.is_trusted:
        routes, style = tuple(definition.routes), None
        words = " ".join(definition.description.split()).removesuffix(".")
    elif loaded.layer in CLIENT_LAYERS:
        routes, words = ("host",), "not trusted, but known to an open session"
    else:
        words = "not trusted"
    return ListedAgent(
        loaded.name,
        _place(entry),
        routes,
        words,
        entry_value(entry),
        tuple(line for each in loaded.problems for line in problem_lines(each)),
        style,
    )


def _place(entry: Entry) -> str:
    return _PLACES.get(entry.loaded.layer, entry.loaded.layer)


def _hidden_by(winner: Entry) -> str:
    return f"hidden: the one from {_place(winner)} is used"


def _clients(
    name: str, place: str, used: Mapping[str, Entry], file: Path | None = None
) -> ListedAgent:
    """An agent whose prompt only the client has; its definition of ours wins."""
    winner = used.get(name)
    routes = _ALL if name == GENERAL else CLIENT_ROUTES
    words = "part of Claude Code" if file is None else str(file)
    if name == GENERAL:
        words = "part of Claude Code; asked if no agent is named"
    if winner is not None:
        routes, words = (), _hidden_by(winner)
    value: dict[str, Any] = {
        "name": name,
        "layer": "claude-code" if file is None else "plugin",
        "file": file and str(file),
        "spelling": file and "markdown",
        "description": None,
        "routes": routes,
        "usable": winner is None,
        "trusted": True,
        "hiddenBy": winner and str(winner.loaded.file),
        "digest": None,
        "problems": [],
    }
    return ListedAgent(
        name, place, routes, words, value, style="dim" if winner else None
    )


def list_lines(agents: list[ListedAgent], width: int | None) -> Iterator[Line]:
    """The table; below it what is wrong, and what to do about it."""
    yield from table(_COLUMNS, map(_row, agents), width)
    problems = [problem for each in agents for problem in each.problems]
    if problems:
        yield ""
        for problem in problems:
            yield from wrapped(problem, width, whole_words=True)
    if any(each.words.startswith("not trusted") for each in agents if each.style):
        yield ""
        way_out = "not trusted: does nothing until you agree, with: hostbridge trust"
        yield from wrapped(way_out, width)


def _row(agent: ListedAgent) -> tuple[str, ...]:
    is_everywhere = set(agent.routes) == set(_ALL)
    words = visible(agent.words)
    return (
        visible(agent.name),
        visible(agent.place),
        "all" if is_everywhere else ", ".join(agent.routes),
        Styled(words, agent.style) if agent.style else words,
    )
