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

from bridge.api.bridge import Bridge
from bridge.api.pipeline_files import Workflows
from bridge.cli.common.options import AS_JSON, MERMAID, option
from bridge.cli.common.parser import only_for
from bridge.cli.flows.named_files import look_at
from bridge.errors import InvalidRequest

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
    only_for(options, ("activate",), "param")
    only_for(options, _OF_ACTIVE, "session")
    only_for(options, ("end",), "agent")
    only_for(options, ("graph",), "mermaid")
    if what in _OF_ACTIVE:
        return _active(what, words, options)
    bridge = Bridge.open()
    project = bridge.store.place.project
    workflows = Workflows(bridge.settings, project, is_used=False)
    return look_at(workflows, options, words)


def _active(what: str, words: list[str], options: Namespace) -> int:
    """What is active in conversations; returns the exit code."""
    from bridge.cli.flows import workflow_active

    bridge = Bridge.open()
    if what == "activate":
        return workflow_active.activate(bridge, words, options)
    if words:
        raise InvalidRequest(f"{what} takes no {words[0]!r}; try --session ID")
    act = workflow_active.status if what == "status" else workflow_active.end
    return act(bridge, options)
