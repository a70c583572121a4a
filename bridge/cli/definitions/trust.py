"""Look at the agents, rules, flows and workflows of this project, and trust them.

Nothing in a project's .bridge takes effect until you have seen what it would do
and said yes, here, at a terminal. The same goes for its .claude/agents, except in a
session of Claude Code, which reads that folder by itself. A change of a definition, or
of a script that it names, needs a new yes. Built-in agents, and those in ~/.hostbridge
or ~/.claude, are always trusted.

For example:
  hostbridge trust
  hostbridge trust --show | less
"""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from bridge.agents import trust
from bridge.agents.agent_names import OF_PROJECT
from bridge.agents.known_agents import BUILT_IN, Agents
from bridge.agents.load import Loaded
from bridge.agents.registry import Entry, Registry
from bridge.api.bridge import Bridge
from bridge.bound.session_above import open_clients
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.options import switch
from bridge.cli.common.output import complain, counted, tell, visible
from bridge.cli.definitions.definition_text import BROKEN, parts_of
from bridge.cli.definitions.trust_files import (
    UNCUT,
    Brought,
    cut,
    difference_lines,
    files_of,
)
from bridge.cli.screen.screen import Styled
from bridge.cli.screen.terminal import confirm
from bridge.errors import InvalidRequest
from bridge.rules.compiled import compile_rules
from bridge.rules.layers import sources
from bridge.workflows.own_steps import entries_with_steps

# Limits for one part of a definition: a long one must not push the others out of sight.
_MAX_SHOWN = 4_000
_MAX_LINE = 1_000
_MAX_LINES = 60

OPTIONS = (
    switch("--revoke", help="Stop trusting anything of this project."),
    switch("--list", dest="show_all", help="Show what is trusted, in every project."),
    switch("--show", help="Show what you would be asked about, uncut; do not ask."),
)


def command(options: Namespace) -> int:
    """Show, ask, record; returns the exit code."""
    bridge = Bridge.open()
    home, project = bridge.settings.home, bridge.store.place.project
    if options.revoke + options.show_all + options.show > 1:
        raise InvalidRequest("--revoke, --list and --show exclude each other")
    if options.show_all:
        return _list(home)
    if options.revoke:
        had = trust.revoke(home, project)
        _put_in_force(bridge)
        tell(f"{project}: {'no longer trusted' if had else 'nothing was trusted'}")
        return Exit.OK
    return _ask(bridge, project, only_show=options.show)


def _ask(bridge: Bridge, project: Path, *, only_show: bool) -> int:
    agents = [*_agents_of(bridge, project)]
    brought = [*agents, *files_of(bridge)]
    main = bridge.store.place.main
    if main is not None:
        tell(f"the rules of a linked worktree are those of {main}: trust them there")
    if not brought:
        tell(f"{project} defines no agents{'' if main else ', and no rules'}")
        return Exit.OK
    new = [each for each in brought if each.is_new]
    if not new:
        tell(f"{project}: {counted(len(brought), 'definition')}, trusted already")
        return Exit.OK
    title = f"{project} brings definitions{' of agents' if agents else ''}:"
    if only_show:
        tell(title, *(line for each in brought for line in each.lines(None)))
        return Exit.OK
    # `record` checks both, too, but only after a person has read all of it.
    trust.trusted_projects(bridge.settings.home)
    trust.refuse_unless_by_hand(
        bridge.settings, open_clients(bridge.settings, bridge.store)
    )
    can_agree = any(each.is_sound for each in new)
    shown = brought if can_agree else new
    lines = [title, *(line for each in shown for line in each.lines(each.most))]
    if not can_agree:
        complain("\n".join(lines))
        return Exit.FAILED
    sound = [each.file for each in brought if each.is_sound]
    these = "this one" if len(sound) == 1 else f"these {len(sound)}"
    if not confirm(lines, f"Trust {these}?"):
        complain("nothing was changed; only the word yes agrees")
        return Exit.FAILED
    # Trust what was shown: a file that has changed since then is not trusted.
    trust.record(
        bridge.settings,
        project,
        sound,
        clients=open_clients(bridge.settings, bridge.store),
    )
    _put_in_force(bridge)
    tell(f"{project}: {len(sound)} trusted")
    return Exit.OK


def _put_in_force(bridge: Bridge) -> None:
    """Have hooks find what is trusted now, and keep these bytes."""
    found = sources(bridge.settings, bridge.store.place)
    if bridge.store.exists() or any(each.data is not None for each in found):
        compile_rules(bridge.settings, bridge.store)


def _agents_of(bridge: Bridge, project: Path) -> Iterator[Brought]:
    registry = Registry.open(bridge.settings, project)
    found = entries_with_steps(Agents(registry))
    others = [e.loaded for e in reversed(found) if e.loaded.layer not in OF_PROJECT]
    # What they hide; None for one of the client's.
    below = {**dict.fromkeys(BUILT_IN), **{each.name: each for each in others}}
    for entry in found:
        if entry.loaded.layer in OF_PROJECT:
            is_sound = entry.loaded.definition is not None
            lines = partial(agent_lines, registry, entry, below)
            yield Brought(
                entry.loaded, not entry.is_trusted, is_sound, lines, _MAX_SHOWN
            )


def agent_lines(
    registry: Registry,
    entry: Entry,
    below: Mapping[str, Loaded | None],
    most: int | None,
) -> Iterator[str]:
    """A definition; `below` has the agents it hides, None for one of the client's.

    Of each part, and of what has changed in each file, the first `most` characters.
    """
    marks = "".join(f"  ({mark})" for mark in _marks(entry, below))
    first, *parts = parts_of(entry.loaded)
    title, *effects = _cut_lines(first, most).split("\n")
    yield from ("", Styled(f"{title}{marks}", "bold"), *effects)
    record = trust.Trust.read(registry.home, registry.project)
    home, rest = registry.home, _where(entry)
    if changed := [*difference_lines(entry.loaded, record, home, most, rest)]:
        yield from ("", *changed)
        return
    for part in parts:
        yield from ("", *cut(part, most).split("\n"))


def _marks(entry: Entry, below: Mapping[str, Loaded | None]) -> Iterator[str]:
    name = entry.loaded.name
    if entry.loaded.definition is None:
        yield BROKEN
    elif entry.changes:
        yield visible(f"changed since you trusted it: {', '.join(entry.changes)}")
    elif not entry.is_trusted:
        yield "new"
    if not entry.is_used:
        yield "hidden"
    elif name in below:
        other = below[name]
        whose = f"the {other.layer}" if other else "Claude Code's"
        yield f"hides {whose} agent of this name"


def _cut_lines(part: str, most: int | None) -> str:
    """The lines of a part; long lines and long lists are cut."""
    lines = part.split("\n")
    kept = [line[:_MAX_LINE] for line in lines[:_MAX_LINES]]
    if most is None or kept == lines:
        return part
    return "\n".join([*kept, f"… all of it: {UNCUT}"])


def _where(entry: Entry) -> str:
    loaded = entry.loaded
    # The name of a broken definition may stand for another agent.
    which = f"show {loaded.name}" if loaded.definition else f"check {loaded.file}"
    return visible(f"hostbridge agents {which}")


def _list(home: Path) -> int:
    projects = trust.trusted_projects(home)
    for project, definitions in projects.items():
        lines = [_listed(project, *each) for each in definitions.items()]
        tell("\n".join([project, *lines]))
    if not projects:
        tell("no project is trusted")
    return Exit.OK


def _listed(project: str, file: str, digests: trust.Digests) -> str:
    """A definition's file, and what ended the trust in it."""
    changes = trust.changes(Path(project), digests)
    marks = [how if name == file else f"{name} {how}" for name, how in changes.items()]
    return f"  {file}" + (f"  ({', '.join(marks)} since; not trusted)" if marks else "")
