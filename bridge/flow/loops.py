"""The labels of a flow, and the jumps back to them. Pure.

The first mark of a name is the place, every later one a jump to it. A place that says
nothing, and to which nothing jumps, is there for a person to agree: a checkpoint.
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
# What a checkpoint asks that says nothing.
GO_ON = "Go on?"


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
    """Find jumps that never end or cannot be, and marks that are meant as jumps."""
    for name, label in labels.items():
        for jump, visit in label.jumps:
            for at, message in _wrong(label, jump, visit):
                found.errors.add(at, message)
        mark, hint = label.mark, ""
        if not label.jumps and mark.prompt is None:
            hint = near(f"@{name}", (f"@{each}" for each in labels if each != name))
        segment = label.visit.segment
        if mark.bound is not None:
            message = f"@{name} stands here first: a bound belongs to a jump back to it"
            found.errors.add(mark.at, message + hint)
        elif hint and segment.condition is not None and segment.steps[-1] is mark:
            # A jump stands like this; what it names is misspelt, here or above.
            found.errors.add(mark.at, f"@{name} is no label before here{hint}")


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
