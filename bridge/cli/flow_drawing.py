"""A drawing of a flow, in as many columns as there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.cli.screen import cells, cut
from bridge.flow.drawing import drawing_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.flow.drawing import Drawn
    from bridge.flow.plan import Plan

# A pipe has no width.
_PAGE = 80


def fitting(plan: Plan, width: int | None) -> Iterator[str]:
    """The drawing, line by line."""
    return (_fitted(line, width or _PAGE) for line in drawing_of(plan))


def _fitted(line: Drawn, width: int) -> str:
    """A line of a drawing: what a step makes is cut later than what it is asked."""
    room = width - cells(line.lead) - cells(line.end)
    return cut(str(line._replace(said=cut(line.said, max(1, room)))), width)
