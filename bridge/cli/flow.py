"""Look at flows: agents one after the other or side by side, in a file.

`check` finds every problem, each with its place; `graph` shows what would run. A flow
that is called with `@call:NAME` is NAME.flow beside the file, or in
~/.hostbridge/flows/. Exit code 1: a flow has errors.

For example:
  echo 'Explore:"Look":seen' | hostbridge flow check -
  echo 'Explore || Plan -> claude' | hostbridge flow graph -
"""

import gc
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.cli.definition_text import problem_value
from bridge.cli.exit_codes import Exit
from bridge.cli.inputs import read_words
from bridge.cli.options import AS_JSON, option, switch
from bridge.cli.output import counted, say, say_json, say_result, visible
from bridge.cli.screen import cells, cut, screen_of
from bridge.errors import InvalidRequest
from bridge.flow.checks import Surroundings, check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.drawing import Drawn, drawing_of, mermaid_of
from bridge.flow.graph import graph_of
from bridge.flow.library import Library
from bridge.flow.parser import parse_flow
from bridge.flow.problems import InvalidFlow, diagnostics
from bridge.flow.syntax_tree import Flow, Group, Parallel, walk
from bridge.rules.agents_named import agent_check

OPTIONS = (
    option(
        "what",
        metavar="check|graph",
        choices=("check", "graph"),
        help="What to do.",
    ),
    option(
        "files",
        metavar="FILE|-",
        nargs="+",
        type=Path,
        completes="file",
        help="The flows; - reads one from stdin.",
    ),
    AS_JSON,
    switch(
        "--mermaid", apart="form", help="For graph: in Mermaid's language, for pages."
    ),
)
# As wide as a drawing is where nothing else says how wide.
_PAGE = 80


def command(options: Namespace) -> int:
    """Check, or draw; returns the exit code."""
    # Many small values and no circles: a third of the time would go into looking.
    gc.disable()
    if options.what == "graph":
        for file in options.files:
            _draw(file, options)
        return Exit.OK
    if options.mermaid:
        raise InvalidRequest(f"--mermaid: try: {options.prog} graph --mermaid FILE")
    around, library = _surroundings()
    errors = [_check(file, options, around, library) for file in options.files]
    return Exit.FAILED if any(errors) else Exit.OK


def _surroundings() -> tuple[Surroundings, Path]:
    """What flows may name here, and the folder of the user's own."""
    bridge = Bridge.open()
    wrong_agent = agent_check(bridge.settings, bridge.store.place.project)
    return Surroundings(wrong_agent), bridge.settings.home / "flows"


def _check(file: Path, options: Namespace, around: Surroundings, library: Path) -> bool:
    """Say what is wrong with a flow; returns whether it has errors."""
    name = _name(file)
    try:
        flow = _read(file)
    except InvalidFlow as error:
        problems, counts = list(error.problems), ""
    else:
        find_flow = Library([file.parent, library]).find
        found = check_flow(flow, replace(around, find_flow=find_flow))
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


def _draw(file: Path, options: Namespace) -> None:
    flow = _read(file)
    # Its agents and sub-flows may be elsewhere: the graph is the same.
    if errors := check_flow(flow).errors:
        raise InvalidFlow(_name(file), flow.source, errors)
    plan = compile_flow(flow)
    if options.as_json:
        say_json(graph_of(plan))
    elif options.mermaid:
        say(*mermaid_of(plan))
    else:
        width = screen_of(sys.stdout).width or _PAGE
        say(*(_fitted(line, width) for line in drawing_of(plan)))


def _fitted(line: Drawn, width: int) -> str:
    """A line of a drawing: what a step makes is cut later than what it is asked."""
    room = width - cells(line.lead) - cells(line.end)
    return cut(str(line._replace(said=cut(line.said, max(1, room)))), width)


def _read(file: Path) -> Flow:
    return parse_flow(read_words(file, "the flow"), file=_name(file))


def _name(file: Path) -> str:
    return "stdin" if str(file) == "-" else str(file)
