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

from bridge.api.bridge import Bridge
from bridge.api.flow_files import Flows
from bridge.api.flow_issues import without_issues
from bridge.cli.definition_text import problem_value
from bridge.cli.exit_codes import Exit
from bridge.cli.flow_drawing import say_graph
from bridge.cli.inputs import read_words
from bridge.cli.options import (
    ACCEPT_DEGRADED,
    AS_JSON,
    MERMAID,
    QUESTION,
    option,
    switch,
)
from bridge.cli.output import counted, say, say_result, visible
from bridge.errors import InvalidRequest
from bridge.flow.checks import check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.library import text_of
from bridge.flow.parser import parse_flow
from bridge.flow.problems import InvalidFlow, diagnostics
from bridge.flow.syntax_tree import Flow, Group, Parallel, walk
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
    what, words = options.what, options.flows
    if what == "design":
        from bridge.cli.flow_design import design_flow

        return design_flow(options)
    if options.out or options.force:
        raise InvalidRequest(f"--out and --force are for: {options.prog} design")
    # Many small values and no circles: a third of the time would go into looking.
    gc.disable()
    if bool(words) == (what == "list"):
        wrong = f"list takes no {words[0]!r}" if words else f"{what} needs a flow"
        way = f"{options.prog} {'check' if words else what} FILE|NAME|-"
        raise InvalidRequest(f"{wrong}; try: {way}")
    if options.mermaid and what != "graph":
        raise InvalidRequest(f"--mermaid: try: {options.prog} graph --mermaid FILE")
    bridge = Bridge.open()
    flows = Flows(bridge.settings, bridge.store.place.project)
    if what == "list":
        from bridge.cli.flow_list import list_flows

        return list_flows(flows, options)
    if what == "graph":
        for word in words:
            _draw(flows, word, options)
        return Exit.OK
    errors = [_check(flows, word, options) for word in words]
    return Exit.FAILED if any(errors) else Exit.OK


def _check(flows: Flows, word: str, options: Namespace) -> bool:
    """Say what is wrong with a flow; returns whether it has errors."""
    file = _file(flows, word)
    name = _name(file)
    try:
        flow = _read(file)
    except InvalidFlow as error:
        problems, counts = list(error.problems), ""
    else:
        # Reading runs nothing: what is not trusted can be looked at, too.
        found = check_flow(flow, flows.around(file, text_of))
        if not found.errors:
            project = flows.project
            found.warnings.extend(without_issues(flow, flows.settings, project))
        problems = [
            *diagnostics(name, flow.source, found.errors),
            *diagnostics(name, flow.source, found.warnings, "warning"),
        ]
        steps = sum(not isinstance(v.step, Parallel | Group) for v in walk(flow.body))
        counts = f"{counted(steps, 'step')}, "
    for problem in problems:
        value = problem_value(problem) | {"column": problem.column}
        say_result(options, value, visible(str(problem), kept="\n"))
    errors = sum(problem.level == "error" for problem in problems)
    if not options.as_json:
        counts += f"{counted(errors, 'error')}, "
        say(f"{name}: {counts}{counted(len(problems) - errors, 'warning')}")
    return errors > 0


def _draw(flows: Flows, word: str, options: Namespace) -> None:
    file = _file(flows, word)
    flow = _read(file)
    # Its agents and sub-flows may be elsewhere: the graph is the same.
    if errors := check_flow(flow).errors:
        raise InvalidFlow(_name(file), flow.source, errors)
    plan = compile_flow(flow)
    say_graph(plan, options)


def _file(flows: Flows, word: str) -> Path:
    if Path(word).suffix in (".yaml", ".yml"):
        raise InvalidRequest(
            f"{word}: a flow's file ends with .flow; a pipeline or a step workflow is "
            f"checked by: {in_shell('hostbridge', 'workflow', 'check', word)}"
        )
    return Path(word) if word == "-" else flows.file_of(word)


def _read(file: Path) -> Flow:
    return parse_flow(read_words(file, "the flow"), file=_name(file))


def _name(file: Path) -> str:
    return "stdin" if str(file) == "-" else str(file)
