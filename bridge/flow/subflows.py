"""The flows that a flow calls: they exist, take what they are given, and end. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.flow.parameters import wrong_arguments
from bridge.flow.syntax_tree import SubFlow, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.flow.problems import Problems
    from bridge.flow.syntax_tree import Flow

    # The flow of a name, or what is wrong with that name.
    FindFlow = Callable[[str], Flow | str]

MAX_DEPTH = 5


def check_subflows(flow: Flow, find_flow: FindFlow, errors: Problems) -> None:
    """Find calls of flows that cannot be called."""
    around = (flow.head.name,) if flow.head.name else ()
    found: dict[str, str | None] = {}
    for call in _calls(flow):
        other = find_flow(call.name)
        if isinstance(other, str):
            errors.add(call.at, other)
            continue
        for message in wrong_arguments(other, dict(call.arguments)):
            errors.add(call.at, f"@call:{call.name}: {message}")
        if call.name not in found:
            found[call.name] = _too_deep(call.name, other, find_flow, around)
        if wrong := found[call.name]:
            errors.add(call.at, wrong)


def _calls(flow: Flow) -> Iterator[SubFlow]:
    return (v.step for v in walk(flow.body) if isinstance(v.step, SubFlow))


def _too_deep(
    name: str, flow: Flow, find_flow: FindFlow, around: tuple[str, ...]
) -> str | None:
    """Why the calls inside a flow never end, or go too deep; None if they do not."""
    path = (*around, name)
    if name in around:
        return f"flows that call each other never end: {' > '.join(path)}"
    if len(path) > MAX_DEPTH:
        return f"flows call each other {MAX_DEPTH} deep at most: {' > '.join(path)}"
    for other in dict.fromkeys(call.name for call in _calls(flow)):
        inner = find_flow(other)
        # What is wrong with its name is reported where that flow itself is checked.
        if not isinstance(inner, str) and (
            wrong := _too_deep(other, inner, find_flow, path)
        ):
            return wrong
    return None
