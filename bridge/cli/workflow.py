"""Look at workflows: pipelines, which run by themselves, and step workflows.

`list` shows every workflow that has a name: the project's, in .bridge/workflows, yours,
in ~/.hostbridge/workflows, and those that are built in. `check` finds every problem,
each with its place, and `show` says what a workflow takes and what its steps do.
`graph` draws what a pipeline would run. Exit code 1: a workflow has errors.

A pipeline is run with `hostbridge run NAME`; in a step workflow an agent goes from step
to step. `activate` begins one in the session or agent that this runs in, or in
`--session`, which has one at a time; `status` says what is active, what its step allows
and what it waits for. `end` ends it before its time: only you can, in a terminal.

For example:
  hostbridge workflow
  hostbridge workflow status
"""

from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.api.workflow_checks import Workflow, WorkflowChecks
from bridge.cli.definition_text import problem_value
from bridge.cli.exit_codes import Exit
from bridge.cli.flow_drawing import say_graph
from bridge.cli.options import AS_JSON, MERMAID, option
from bridge.cli.output import counted, say, say_result, visible
from bridge.cli.workflow_text import list_workflows, show_workflow
from bridge.errors import InvalidRequest
from bridge.pipelines.compiler import compile_pipeline
from bridge.pipelines.problems import InvalidWorkflow

_OF_FILES = ("list", "check", "show", "graph")
_OF_ACTIVE = ("status", "activate", "end")
_WHAT = (*_OF_FILES, *_OF_ACTIVE)
_ACTIVE = "For status, activate and end"
OPTIONS = (
    option(
        "what",
        metavar="WHAT",
        nargs="?",
        choices=_WHAT,
        default="list",
        help=f"What to do: {', '.join(_WHAT[:-1])} or {_WHAT[-1]}; list by default.",
    ),
    option(
        "workflows",
        metavar="FILE|NAME",
        nargs="*",
        completes="file",
        help="The workflows.",
    ),
    option(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        heading=_ACTIVE,
        help="For activate: what a variable begins with; NAME:=JSON for what is not "
        "text.",
    ),
    option(
        "--session",
        metavar="ID",
        completes="sessions",
        heading=_ACTIVE,
        help="Which session; the beginning of its id is enough.",
    ),
    option(
        "--agent",
        metavar="ID",
        heading=_ACTIVE,
        help="For end: the workflow of this agent.",
    ),
    AS_JSON,
    MERMAID,
)


def command(options: Namespace) -> int:
    """Look at workflows, or at what is active; returns the exit code."""
    what, words = options.what, options.workflows
    _check_options(options)
    if what in _OF_ACTIVE:
        return _active(what, words, options)
    if bool(words) == (what == "list"):
        wrong = f"list takes no {words[0]!r}" if words else f"{what} needs a workflow"
        way = f"{options.prog} {'check' if words else what} FILE|NAME"
        raise InvalidRequest(f"{wrong}; try: {way}")
    bridge = Bridge.open()
    workflows = WorkflowChecks(bridge.settings, bridge.store.place.project)
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


def _check_options(options: Namespace) -> None:
    what = options.what
    if options.mermaid and what != "graph":
        raise InvalidRequest(f"--mermaid: try: {options.prog} graph --mermaid FILE")
    for name, whose in (
        ("param", ("activate",)),
        ("session", _OF_ACTIVE),
        ("agent", ("end",)),
    ):
        if getattr(options, name) and what not in whose:
            raise InvalidRequest(f"--{name} is for: {options.prog} {'|'.join(whose)}")


def _active(what: str, words: list[str], options: Namespace) -> int:
    """What is active in conversations; returns the exit code."""
    from bridge.cli import workflow_active

    bridge = Bridge.open()
    if what == "activate":
        return workflow_active.activate(bridge, words, options)
    if words:
        raise InvalidRequest(f"{what} takes no {words[0]!r}; try --session ID")
    act = workflow_active.status if what == "status" else workflow_active.end
    return act(bridge, options)


def _file(workflows: WorkflowChecks, word: str) -> Path:
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
        if errors and not found.steps:
            # What kind it was to be is not known.
            kind = "workflow"
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
    say_graph(plan, options)
