"""Which agents can be asked, where they come from, and what is wrong with them.

`list` shows all agents, `show NAME` one of them, and `check [PATH]` every problem in a
file, in a folder, or in all definitions. `new NAME` writes a definition with comments
for you to edit: into ~/.hostbridge/agents, or into .bridge/agents with --project.

`promote NAME` keeps a temporary agent of a flow, of a run that lives or has ended: in
~/.hostbridge/agents, .bridge/agents (--to project) or ~/.claude/agents (--to claude).

An agent of the project hides one of yours, which hides a built-in one, which hides one
of Claude Code's. Exit code 1: a definition has errors; 2: there is none to check.

For example:
  hostbridge agents
  hostbridge agents new release-notes
  hostbridge agents promote fixer --to project
"""

import sys
from argparse import Namespace
from pathlib import Path

from bridge.agents.known_agents import Agents, check_agent
from bridge.agents.registry import Registry
from bridge.api.bridge import Bridge
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.options import AS_JSON, option, switch
from bridge.cli.common.output import say, say_json, say_result
from bridge.cli.common.parser import only_for
from bridge.cli.definitions.agent_list import (
    all_agents,
    find_temporary,
    list_lines,
    temporary_agents,
)
from bridge.cli.definitions.agents_promote import CONFLICTS, promote
from bridge.cli.definitions.agents_promote import LAYERS as PROMOTED_TO
from bridge.cli.definitions.definition_text import entry_text, entry_value
from bridge.cli.definitions.nested_files import complain_of_nested_agents
from bridge.cli.running.which_run import which_run
from bridge.cli.screen.screen import folded, screen_of
from bridge.errors import InvalidRequest
from bridge.protocol.wording import in_shell
from bridge.workflows.own_steps import entries_with_steps

USAGE = "[list|show NAME|check [PATH]|new NAME|promote NAME]"
_QUESTION = "Which modules lack tests?"
OPTIONS = (
    option(
        "what",
        metavar="list|show|check|new|promote",
        nargs="?",
        choices=("list", "show", "check", "new", "promote"),
        default="list",
        help="What to do; list by default.",
    ),
    option(
        "which",
        completes="agents",
        metavar="NAME|PATH",
        nargs="?",
        help="What to show, check, write or keep.",
    ),
    switch("--project", help="For `new`: into this project, for all who work on it."),
    switch("--markdown", help="For `new`: as Claude Code writes agents, not as YAML."),
    option(
        "--run",
        metavar="RUN",
        help="For `promote`: the run whose agent it is; the newest by default.",
    ),
    option(
        "--to",
        metavar="user|project|claude",
        choices=tuple(PROMOTED_TO),
        help="For `promote`: where it is kept; user by default.",
    ),
    option(
        "--on-conflict",
        metavar="rename|overwrite|skip",
        choices=CONFLICTS,
        help="For `promote`: what to do if its name is taken; an error by default.",
    ),
    AS_JSON,
)


def command(options: Namespace) -> int:
    """List, show or check; returns the exit code."""
    which = options.which
    only_for(options, ("new",), "project", "markdown")
    only_for(options, ("promote",), "run", "to", "on_conflict")
    bridge = Bridge.open()
    registry = Registry.open(bridge.settings, bridge.store.place.project)
    if options.what == "check":
        from bridge.cli.definitions.agents_check import check

        return check(registry, bridge.settings, options)
    if options.what == "show":
        return _show(bridge, registry, options)
    if options.what == "new":
        return _new(bridge, registry, options)
    if options.what == "promote":
        return _promote(bridge, registry, options)
    if which is not None:
        raise InvalidRequest(f"list takes no {which!r}; try: agents show {which}")
    return _list(bridge, registry, options)


def _list(bridge: Bridge, registry: Registry, options: Namespace) -> int:
    agents = [
        *all_agents(registry, bridge.settings),
        *temporary_agents(bridge.store, registry),
    ]
    if options.as_json:
        for each in agents:
            say_json(each.value)
    else:
        say(*list_lines(agents, screen_of(sys.stdout).width))
    complain_of_nested_agents(registry)
    levels = {p["level"] for each in agents for p in each.value["problems"]}
    return Exit.FAILED if "error" in levels else Exit.OK


def _new(bridge: Bridge, registry: Registry, options: Namespace) -> int:
    from bridge.cli.definitions.agents_new import write_new

    name = options.which
    if name is None:
        raise InvalidRequest("new needs a name: hostbridge agents new release-notes")
    file = write_new(
        name,
        registry,
        bridge,
        in_project=options.project,
        markdown=options.markdown,
    )
    say_result(options, {"name": name, "file": file}, *_next_steps(name, file, options))
    return Exit.OK


def _next_steps(name: str, file: Path, options: Namespace) -> list[str]:
    ask = in_shell("hostbridge", "ask", name, _QUESTION)
    check = in_shell("hostbridge", "agents", "check", file)
    trust = ["hostbridge trust"] if options.project else []
    steps = [f"  {step}" for step in (check, *trust, ask)]
    return [str(file), "edit it, then:", *steps]


def _promote(bridge: Bridge, registry: Registry, options: Namespace) -> int:
    name, to = options.which, options.to or "user"
    if name is None:
        raise InvalidRequest("promote which one? see: hostbridge agents")
    done = promote(
        name,
        bridge,
        registry,
        run=options.run and which_run(bridge, options.run),
        to=to,
        on_conflict=options.on_conflict,
    )
    newest = f", the newest of {done.runs} that have it" if done.runs > 1 else ""
    if not done.is_written:
        lines = [f"{done.file} has this name already, and stays as it is"]
    else:
        lines = [str(done.file), f"from run {done.run}{'' if options.run else newest}"]
        ask = in_shell("hostbridge", "ask", done.name, _QUESTION)
        next_steps = {
            "user": [ask],
            "project": ["hostbridge trust", ask],
            "claude": ["claude    # a new session knows it"],
        }
        lines += ["then:", *(f"  {step}" for step in next_steps[to])]
    value = {
        "name": done.name,
        "file": done.file,
        "run": done.run,
        "to": to,
        "written": done.is_written,
    }
    say_result(options, value, *lines)
    return Exit.OK


def _show(bridge: Bridge, registry: Registry, options: Namespace) -> int:
    name = options.which
    if name is None:
        raise InvalidRequest("show which one? try: hostbridge agents list")
    entries = entries_with_steps(Agents(registry))
    used = (entry for entry in entries if entry.is_used)
    entry = next((e for e in used if e.loaded.name == name), None)
    entry = entry or find_temporary(bridge.store, registry, name)
    if entry is None:
        check_agent(name, registry)
        say(f"{name}: known to Claude Code; hostbridge has no definition of it")
        return Exit.OK
    definition = entry.loaded.definition
    value = definition.model_dump(mode="json") if definition else None
    lines = folded(
        entry_text(entry).split("\n"), screen_of(sys.stdout).width, whole_words=False
    )
    say_result(options, {**entry_value(entry), "definition": value}, *lines)
    return Exit.FAILED if entry.loaded.errors else Exit.OK
