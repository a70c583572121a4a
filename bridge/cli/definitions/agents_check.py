"""Every problem in a definition, in a folder of them, or in all that there are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.agent_names import SUFFIXES
from bridge.agents.diagnostic import Diagnostic, nearest_line
from bridge.agents.known_agents import Agents
from bridge.agents.library import WORKFLOWS, Library
from bridge.agents.load import Loaded, load
from bridge.agents.workflow_choice import name_of
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.output import say, visible
from bridge.cli.definitions.definition_text import say_problems
from bridge.cli.definitions.nested_files import complain_of_nested_agents
from bridge.cli.records.schema_limits import shape_problems
from bridge.errors import InvalidRequest
from bridge.hints import did_you_mean
from bridge.workflows.own_steps import with_steps

if TYPE_CHECKING:
    from argparse import Namespace

    from bridge.agents.diagnostic import Place
    from bridge.agents.registry import Registry
    from bridge.config import Settings


def check(registry: Registry, settings: Settings, options: Namespace) -> int:
    """Say what is wrong with the definitions; the exit code."""
    agents = Agents(registry)
    if options.which is None:
        found = [entry.loaded for entry in agents.entries()]
        complain_of_nested_agents(registry)
    else:
        found = [
            agents.whole(load(file, registry.layer_of(file), home=registry.home))
            for file in _files(Path(options.which))
        ]
    files = Library(WORKFLOWS, settings, registry.project)
    found = [with_steps(_with_shapes(loaded), agents.wrong) for loaded in found]
    found = [_with_workflows(loaded, files) for loaded in found]
    if not found:
        suffixes = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
        raise InvalidRequest(f"{options.which}: no definitions in it ({suffixes})")
    problems = [problem for loaded in found for problem in loaded.problems]
    summary = say_problems(options, problems)
    if not options.as_json:
        say(f"{len(found)} looked at: {summary}")
        untrusted = [each.name for each in found if not registry.is_trusted(each)]
        if untrusted:
            names = visible(", ".join(untrusted))
            say(f"not trusted: {names}; look with: hostbridge trust")
    return Exit.FAILED if any(loaded.errors for loaded in found) else Exit.OK


def _with_shapes(loaded: Loaded) -> Loaded:
    more = tuple(shape_problems(loaded))
    return replace(loaded, problems=(*loaded.problems, *more))


def _with_workflows(loaded: Loaded, files: Library) -> Loaded:
    """An agent's file, also with a warning for each workflow that is not there."""
    definition = loaded.definition
    if definition is None:
        return loaded
    known = files.below(loaded.layer).names()
    named: dict[Place, str] = {
        ("workflows", key, "file"): choice.file
        for key, choice in definition.workflows.items()
    }
    if definition.workflow:
        named[("workflow",)] = definition.workflow
    missing = [
        Diagnostic(
            loaded.file,
            nearest_line(loaded.lines, place),
            place,
            f"there is no workflow {name!r} yet{did_you_mean(name, known)}",
            "warning",
        )
        for place, name in zip(named, map(name_of, named.values()), strict=True)
        if name not in known
    ]
    return replace(loaded, problems=(*loaded.problems, *missing))


def _files(path: Path) -> list[Path]:
    path = path.absolute()
    if not path.exists():
        raise InvalidRequest(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    # Only Claude Code looks for agents in sub-folders.
    found = path.rglob("*") if ".claude" in path.parts else path.iterdir()
    return sorted(file for file in found if file.suffix in SUFFIXES)
