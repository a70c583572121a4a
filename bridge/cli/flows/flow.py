"""Look at flows: agents one after the other or side by side, in a file.

`list` shows every flow that has a name: the project's, in .bridge/flows, yours, in
~/.hostbridge/flows, and those that are built in. `check` finds every problem, each with
its place; `graph` shows what would run. A flow that is called with `@call:NAME` is
NAME.flow beside the file, or one of the list. Exit code 1: a flow has errors.

`design "What it is to do"` asks the agent flow-designer for a flow. One that cannot run
goes back to it with its errors, twice at most. It is printed, or written with --out; no
part of it is run. Exit code 1: there is none that can run; the last try is kept.

For example:
  echo 'Explore:"Look":seen' | hostbridge flow check -
  hostbridge flow graph review-change
"""

import gc
from argparse import Namespace
from pathlib import Path

from bridge.agents.library import WORKFLOWS
from bridge.api.bridge import Bridge
from bridge.api.flow_files import Flows
from bridge.cli.common.options import (
    ACCEPT_DEGRADED,
    AS_JSON,
    MERMAID,
    QUESTION,
    option,
    switch,
)
from bridge.cli.common.parser import only_for
from bridge.cli.flows.named_files import look_at
from bridge.errors import InvalidRequest
from bridge.protocol.wording import in_shell

_DESIGN = "For design"
_OF_ASK = {"--route", "--model", "--session", "--timeout"}
OPTIONS = (
    option(
        "what",
        metavar="list|check|graph|design",
        nargs="?",
        choices=("list", "check", "graph", "design"),
        default="list",
        help="What to do; list by default.",
    ),
    option(
        "flows",
        metavar="FILE|NAME|-",
        nargs="*",
        completes="file",
        help="The flows; for design, in quotes, what it is to do. - reads stdin.",
    ),
    option(
        "--out",
        metavar="FILE",
        heading=_DESIGN,
        completes="file",
        type=Path,
        help="Write the flow into this file, NAME.flow, which must not be there yet.",
    ),
    switch("--force", heading=_DESIGN, help="Replace the file if it is there."),
    *(each._replace(heading=_DESIGN) for each in QUESTION if _OF_ASK & {*each.names}),
    ACCEPT_DEGRADED._replace(heading=_DESIGN),
    AS_JSON,
    MERMAID,
)


def command(options: Namespace) -> int:
    """List, check, draw, or design; returns the exit code."""
    if options.what == "design":
        from bridge.cli.flows.flow_design import design_flow

        return design_flow(options)
    only_for(options, ("design",), "out", "force")
    only_for(options, ("graph",), "mermaid")
    # Many small values and no circles: a third of the time would go into looking.
    gc.disable()
    for word in options.flows:
        if Path(word).suffix in WORKFLOWS.suffixes:
            way = in_shell("hostbridge", "workflow", "check", word)
            raise InvalidRequest(
                f"{word}: a flow's file ends with .flow; a pipeline or a step workflow "
                f"is checked by: {way}"
            )
    bridge = Bridge.open()
    flows = Flows(bridge.settings, bridge.store.place.project)
    return look_at(flows, options, options.flows)
