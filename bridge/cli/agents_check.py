"""Every problem in a definition, in a folder of them, or in all that there are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.agent_names import SUFFIXES
from bridge.agents.known_agents import Agents
from bridge.agents.load import Loaded, load
from bridge.cli.definition_text import problem_lines, problem_value
from bridge.cli.exit_codes import Exit
from bridge.cli.nested_files import complain_of_nested_agents
from bridge.cli.output import counted, say, say_result, visible
from bridge.cli.schema_limits import shape_problems
from bridge.errors import InvalidRequest
from bridge.pipelines.workflow_files import WorkflowFiles
from bridge.rules.agents_named import agent_check
from bridge.workflows.library import with_named_workflows
from bridge.workflows.own_steps import with_steps

if TYPE_CHECKING:
    from argparse import Namespace

    from bridge.agents.registry import Registry
    from bridge.config import Settings


def check(registry: Registry, settings: Settings, options: Namespace) -> int:
    """Say what is wrong with the definitions; the exit code."""
    if options.which is None:
        found = [entry.loaded for entry in Agents(registry).entries()]
        complain_of_nested_agents(registry)
    else:
        whole = Agents(registry).whole
        found = [
            whole(load(file, registry.layer_of(file), home=registry.home))
            for file in _files(Path(options.which))
        ]
    check_name = agent_check(settings, registry.project)
    files = WorkflowFiles(settings, registry.project)
    found = [with_steps(_with_shapes(loaded), check_name) for loaded in found]
    found = [with_named_workflows(loaded, files) for loaded in found]
    if not found:
        suffixes = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
        raise InvalidRequest(f"{options.which}: no definitions in it ({suffixes})")
    problems = [problem for loaded in found for problem in loaded.problems]
    for problem in problems:
        say_result(options, problem_value(problem), *problem_lines(problem))
    if not options.as_json:
        errors = sum(problem.level == "error" for problem in problems)
        warnings = len(problems) - errors
        summary = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
        say(f"{len(found)} looked at: {summary}")
        untrusted = [each.name for each in found if not registry.is_trusted(each)]
        if untrusted:
            names = visible(", ".join(untrusted))
            say(f"not trusted: {names}; look with: hostbridge trust")
    return Exit.FAILED if any(loaded.errors for loaded in found) else Exit.OK


def _with_shapes(loaded: Loaded) -> Loaded:
    more = tuple(shape_problems(loaded))
    return replace(loaded, problems=(*loaded.problems, *more))


def _files(path: Path) -> list[Path]:
    path = path.absolute()
    if not path.exists():
        raise InvalidRequest(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    # Only Claude Code looks for agents in sub-folders.
    found = path.rglob("*") if ".claude" in path.parts else path.iterdir()
    return sorted(file for file in found if file.suffix in SUFFIXES)
