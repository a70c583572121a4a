"""Whether the steps of a workflow lead where they should."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import Place
from bridge.hints import did_you_mean

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree
    from bridge.policy.step_record import CompiledWorkflow


def check_paths(tree: Tree, code: CompiledWorkflow, names: Collection[str]) -> None:
    """Check that every step can be entered, and that the end can be reached."""
    steps = code["steps"]
    if not steps:
        return
    ways = {
        name: [t["to"] for t in step["transitions"]] for name, step in steps.items()
    }
    reached = _reachable(ways, [code["first"]])
    for number, name in enumerate(steps):
        if name not in reached:
            message = f"no transition leads to the step {name!r}"
            tree.warn(("steps", number), message)
    ends = exit_steps(code["exit"])
    if ends is None:
        return
    at: Place = ("exit_condition",)
    for name in sorted(ends - set(steps)):
        hint = did_you_mean(name, names)
        tree.error(at, f"no step is named {name!r}{hint}")
    known = ends & steps.keys()
    if known and not known & reached:
        named = ", ".join(sorted(known))
        tree.error(at, f"no transition leads to {named}: the workflow would never end")
    elif known:
        _warn_of_dead_ends(tree, ways, known & reached, reached)


def _warn_of_dead_ends(
    tree: Tree,
    ways: dict[str, list[str]],
    ends: set[str],
    reached: set[str],
) -> None:
    back: dict[str, list[str]] = {name: [] for name in ways}
    for name, tos in ways.items():
        for to in tos:
            back.setdefault(to, []).append(name)
    good = _reachable(back, ends)
    for number, name in enumerate(ways):
        if name in reached and name not in good:
            message = f"no way leads from the step {name!r} to the end"
            tree.warn(("steps", number), message)


def _reachable(ways: dict[str, list[str]], first: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(first)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += ways.get(name, ())
    return found


def exit_steps(code: Any) -> set[str] | None:
    """The steps that an exit condition names; None if it asks for more than that."""
    match code:
        case ["compare", _, ["name", _, "current_step"], "==", str(name)]:
            return {name}
        case ["compare", _, str(name), "==", ["name", _, "current_step"]]:
            return {name}
        case ["compare", _, ["name", _, "current_step"], "in", ["list", _, *names]]:
            return set(names) if all(isinstance(n, str) for n in names) else None
        case ["or", _, *parts]:
            found = [exit_steps(part) for part in parts]
            if any(each is None for each in found):
                return None
            return {name for each in found for name in each or ()}
    return None
