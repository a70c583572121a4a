"""The graph of a plan: drawn in as many columns as there are, Mermaid, or JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bridge.cli.output import say, say_json
from bridge.cli.screen import cells, cut, screen_of
from bridge.flow.drawing import drawing_of, graph_of, mermaid_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from bridge.flow.drawing import Drawn
    from bridge.flow.plan import Plan

# A pipe has no width.
_PAGE = 80


def say_graph(plan: Plan, options: Namespace) -> None:
    """Print the graph in the form that `--json` or `--mermaid` asks for, or drawn."""
    if options.as_json:
        say_json(graph_of(plan))
    elif options.mermaid:
        say(*mermaid_of(plan))
    else:
        say(*fitting(plan, screen_of(sys.stdout).width))


def fitting(plan: Plan, width: int | None) -> Iterator[str]:
    """The drawing, line by line."""
    return (_fitted(line, width or _PAGE) for line in drawing_of(plan))


def _fitted(line: Drawn, width: int) -> str:
    """A line of a drawing: what a step makes is cut later than what it is asked."""
    room = width - cells(line.lead) - cells(line.end)
    return cut(str(line._replace(said=cut(line.said, max(1, room)))), width)
