"""The labels of a flow, and the jumps back to them. Pure.

The first mark of a name is the place, every later one a jump to it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bridge.flow.problems import near
from bridge.flow.syntax_tree import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.flow.problems import Findings
    from bridge.flow.syntax_tree import Visit

# How often a jump is taken that says no number.
BOUND = 10


class Label(NamedTuple):
    """A place, and the jumps back to it; with where each stands."""

    mark: Mark
    visit: Visit
    jumps: list[tuple[Mark, Visit]]


def labels_of(visits: Iterable[Visit]) -> dict[str, Label]:
    """The labels of a flow, by their names."""
    labels: dict[str, Label] = {}
    for visit in visits:
        mark = visit.step
        if not isinstance(mark, Mark):
            continue
        if mark.name in labels:
            labels[mark.name].jumps.append((mark, visit))
        else:
            labels[mark.name] = Label(mark, visit, [])
    return labels


def check_labels(labels: dict[str, Label], found: Findings) -> None:
    """Find labels that nothing jumps to, and jumps that never end or cannot be."""
    for name, label in labels.items():
        for jump, visit in label.jumps:
            for at, message in _wrong(label, jump, visit):
                found.errors.add(at, message)
        mark = label.mark
        if mark.bound is not None and (label.jumps or mark.prompt is not None):
            message = f"@{name} stands here first: a bound belongs to a jump back to it"
            found.errors.add(mark.at, message)
        if label.jumps or mark.prompt is not None:
            continue
        hint = near(f"@{name}", (f"@{other}" for other in labels if other != name))
        if hint or label.visit.segment.steps[-1] is mark:
            hint = hint or f'; a jump leads back, and a checkpoint asks: @{name}:"…"'
            found.errors.add(mark.at, f"@{name} is no label before here{hint}")
        else:
            message = f'nothing jumps to @{name}; as a checkpoint it asks: @{name}:"…"'
            found.warnings.add(mark.at, message)


def _wrong(label: Label, jump: Mark, visit: Visit) -> Iterator[tuple[int, str]]:
    name = f"@{jump.name}"
    if jump.prompt is not None:
        yield jump.at, f"{name} stands above, so this is a jump, which has no text"
    if visit.inside != label.visit.inside:
        yield jump.at, f"a jump to {name} would leave or enter a branch or a retry"
        return
    if jump.bound is not None:
        return
    if visit.guard <= label.mark.at:
        way = f"(if …)~> {name}, or {name}(3)"
        yield jump.at, f"this loop has neither a condition nor a bound: {way}"
    steps = visit.segment.steps
    for step, after in pairwise(steps):
        if step is jump:
            message = (
                f"a step behind a jump runs when its bound is used up: say {name}(3)"
            )
            yield after.at, message
