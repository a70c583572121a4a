"""Which run is meant, and which of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import InvalidRequest

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge
    from bridge.engine.view import RunView
    from bridge.flow.details import Detail


def which_run(bridge: Bridge, words: str) -> str:
    """The run that is meant: the beginning of an id names it, if it is the only one.

    Raises:
        InvalidRequest: several begin with it; lists them.
    """
    folder = bridge.store.place.state / "runs"
    known = [file.parent.name for file in folder.glob("*/run.json")]
    found = [each for each in known if each.startswith(words)] if words else []
    if words in known or not found:
        return words
    if len(found) > 1:
        listed = ", ".join(sorted(found)[:10])
        raise InvalidRequest(f"run {words}: {len(found)} begin so: {listed}")
    return found[0]


def step_of(seen: RunView, words: str) -> tuple[str, str]:
    """The step that is meant, and its run: that of a called flow, in `node-0/node-1`.

    A step is named by its number, or by its label or agent if it is the only one.

    Raises:
        InvalidRequest: there is none, or there are several.
    """
    first, slash, below = words.partition("/")
    node = _node_of(seen, first)
    if not slash:
        return seen.run["run"], node
    if node not in seen.children:
        raise InvalidRequest(f"step {first!r} has called no flow")
    return step_of(seen.children[node], below)


def _node_of(seen: RunView, words: str) -> str:
    if words in seen.plan["nodes"]:
        return words
    name = words.removeprefix("@").removeprefix("$")
    fits = [
        node for node, detail in seen.details["details"].items() if _fits(detail, name)
    ]
    if words.startswith("@"):
        fits = fits[:1]
    if len(fits) == 1:
        return fits[0]
    what = f"several: {', '.join(fits)}" if fits else "none"
    raise InvalidRequest(
        f"step {words!r}: {what}; see `hostbridge runs show {seen.run['run']}`"
    )


def _fits(detail: Detail, name: str) -> bool:
    return name in (detail.get("label"), detail.get("own"), detail.get("agent"))
