"""Which steps a condition is about, and which words it asks of them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.engine.run import LinkedNode
    from bridge.flow.plan import Code

_WORDS = frozenset({"passed", "success", "failed", "issues"})


def last_steps(
    nodes: Mapping[str, LinkedNode],
    out: list[str],
    token: Callable[[str, str], bool | None],
    name: str,
    *,
    own: bool,
    failed: frozenset[str] = frozenset(),
) -> list[str]:
    """The last steps before a `pass`, or the end, in written order.

    Those before its `since` do not count where there are others; with `own` never.
    `token` says whether an edge is live; each `pass` in `failed` is a step, too.
    """
    behind: dict[str, tuple[set[str], list[str]]] = {}
    left = [name]
    while left:
        each = left.pop()
        sources = nodes[each]["in"] if each else out
        live = [source for source in sources if token(source, each)]
        passes = [source for source in live if nodes[source]["kind"] == "pass"]
        steps = {s for s in live if s in failed or nodes[s]["kind"] != "pass"}
        behind[each] = steps, passes
        left += [each for each in passes if each not in behind]
    order = {each: index for index, each in enumerate(nodes)}
    found: dict[str, set[str]] = {}
    for each in sorted(behind, key=lambda node: order.get(node, len(order))):
        steps, passes = behind[each]
        steps = steps.union(*(found[source] for source in passes))
        since = nodes[each].get("since") if each else None
        if since is not None:
            mine = {step for step in steps if order[step] >= order[since]}
            steps = mine if mine or (own and each == name) else steps
        found[each] = steps
    return sorted(found[name], key=order.__getitem__)


def words_of(code: Code) -> set[str]:
    """The words about steps that a condition asks for."""
    match code:
        case ["name", _, word] | ["get", _, ["name", _, "all" | "any"], str() as word]:
            return {word} & _WORDS
        case [_, _, *parts]:
            return set().union(*map(words_of, parts))
    return set()
