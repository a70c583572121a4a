"""Look at workflows: pipelines, which run by themselves, and step workflows.

`list` shows every workflow that has a name: the project's, in .bridge/workflows, yours,
in ~/.hostbridge/workflows, and those that are built in. `check` finds every problem,
each with its place, and `show` says what a workflow takes and what its steps do.
`graph` draws what a pipeline would run. Exit code 1: a workflow has errors.

A pipeline is run with `hostbridge run NAME`; in a step workflow an agent goes from step
to step.

For example:
  hostbridge workflow
  hostbridge workflow list --json
"""

import sys
from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.api.workflow_checks import Workflow, Workflows
from bridge.cli.definition_text import problem_value
from bridge.cli.exit_codes import Exit
from bridge.cli.flow_drawing import fitting
from bridge.cli.options import AS_JSON, option, switch
from bridge.cli.output import counted, say, say_json, say_result, visible
from bridge.cli.screen import screen_of
from bridge.cli.workflow_text import list_workflows, show_workflow
from bridge.errors import InvalidRequest
from bridge.flow.drawing import mermaid_of
from bridge.flow.graph import graph_of
from bridge.pipelines.compiler import compile_pipeline
from bridge.pipelines.problems import InvalidWorkflow

_WHAT = ("list", "check", "show", "graph")
OPTIONS = (
    option(
        "what",
        metavar="|".join(_WHAT),
        nargs="?",
        choices=_WHAT,
        default="list",
        help="What to do; list by default.",
    ),
    option(
        "workflows",
        metavar="FILE|NAME",
        nargs="*",
        completes="file",
        help="The workflows.",
    ),
    AS_JSON,
    switch(
        "--mermaid", apart="form", help="For graph: in Mermaid's language, for pages."
    ),
)


def command(options: Namespace) -> int:
    """List, check, show or draw; returns the exit code."""
    what, words = options.what, options.workflows
    if bool(words) == (what == "list"):
        wrong = f"list takes no {words[0]!r}" if words else f"{what} needs a workflow"
        way = f"{options.prog} {'check' if words else what} FILE|NAME"
        raise InvalidRequest(f"{wrong}; try: {way}")
    if options.mermaid and what != "graph":
        raise InvalidRequest(f"--mermaid: try: {options.prog} graph --mermaid FILE")
    bridge = Bridge.open()
    workflows = Workflows(bridge.settings, bridge.store.place.project)
    if what == "list":
        return list_workflows(workflows, as_json=options.as_json)
    found = [workflows.read(_file(workflows, word)) for word in words]
    if what == "check":
        errors = [_check(each, options) for each in found]
        return Exit.FAILED if any(errors) else Exit.OK
    for each in found:
        if what == "show":
            show_workflow(each, as_json=options.as_json)
        else:
            _draw(each, options)
    return Exit.OK


def _file(workflows: Workflows, word: str) -> Path:
    # What lies here is meant by its path, even if it has no suffix.
    path = Path(word)
    return path if path.is_file() else workflows.files.file_of(word)


def _check(found: Workflow, options: Namespace) -> bool:
    """Say what is wrong with a workflow; returns whether it has errors."""
    for problem in found.problems:
        value = problem_value(problem) | {"column": problem.column}
        say_result(options, value, visible(str(problem), kept="\n"))
    errors = sum(problem.level == "error" for problem in found.problems)
    if not options.as_json:
        kind = "pipeline" if found.kind == "pipeline" else "step workflow"
        warnings = counted(len(found.problems) - errors, "warning")
        steps, wrong = counted(len(found.steps), "step"), counted(errors, "error")
        say(f"{visible(str(found.file))}: a {kind}, {steps}, {wrong}, {warnings}")
    return errors > 0


def _draw(found: Workflow, options: Namespace) -> None:
    pipeline = found.pipeline
    if pipeline is None:
        raise InvalidRequest(
            f"{found.file} is a step workflow: its conditions decide which step is "
            f"next; see: {options.prog} show {found.name}"
        )
    if pipeline.errors:
        raise InvalidWorkflow(pipeline.errors)
    plan = compile_pipeline(pipeline)
    if options.as_json:
        say_json(graph_of(plan))
    elif options.mermaid:
        say(*mermaid_of(plan))
    else:
        say(*fitting(plan, screen_of(sys.stdout).width))
