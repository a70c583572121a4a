"""The ways to write a step, brought to one: its parts as fields with their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.validate import check
from bridge.hints import meant
from bridge.pipelines.fields import ApprovalFields, WaitFields
from bridge.pipelines.foreign import Foreign, foreign_step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel

    from bridge.agents.diagnostic import Place
    from bridge.pipelines.reading import Reading

_MAPPINGS = frozenset({"set", "arguments", "inputs"})
_TEXTS = frozenset(
    {"agent", "prompt", "pipeline", "fail", "for", "workflow", "mode", "model"}
)
_INVOKED = Foreign(
    "pipeline", {"name": "pipeline", "arguments": "inputs", "inputs": "inputs"}
)
# What a tool of another server cannot do without.
_NEEDED = {"set": "data", "fail": "message", "pipeline": "name"}


def one_form(reading: Reading, kind: str) -> str | None:
    """Bring a step to the one form of its kind, and return the kind.

    None if it cannot be one; what is wrong is in the tree.
    """
    if kind == "mcp":
        mcp = reading.raw["mcp"]
        at = (*reading.place, "mcp")
        return _of_server(reading, mcp["server"], mcp["tool"], mcp, at)
    if kind == "tool" and foreign_step(None, reading.raw["tool"]):
        return _of_server(
            reading, None, reading.raw["tool"], reading.raw, reading.place
        )
    if kind in _SPREAD:
        return _SPREAD[kind](reading)
    return kind


def _of_server(
    reading: Reading,
    server: str | None,
    tool: str,
    source: Mapping[str, Any],
    at: Place,
) -> str | None:
    """A tool that is named with its server: the step that it is here."""
    arguments = source.get("arguments") or {}
    found = foreign_step(server, tool)
    tree = reading.expressions.tree
    if isinstance(found, str):
        tree.error((*at, "server" if found.startswith("no server") else "tool"), found)
        return None
    if found is None:
        given = {key: value for key, value in arguments.items() if key != "session_id"}
        reading.raw = {"tool": tool, "arguments": given}
        reading.places = {"tool": (*at, "tool"), "arguments": (*at, "arguments")}
        return "tool"
    raw = _renamed(reading, found, arguments, (*at, "arguments"))
    if raw is None:
        return None
    kind: str = found.kind
    reading.places.setdefault(kind, (*at, "tool"))
    if kind in _NEEDED and kind not in raw:
        message = f"argument {_NEEDED[kind]!r} is missing"
        tree.error((*at, "arguments"), message)
        return None
    if kind == "worktree":
        raw = {"worktree": found.action, "arguments": raw}
    elif kind == "wait":
        raw["wait"] = ""
    reading.raw, reading.is_foreign = raw, kind in ("agent", "wait")
    return kind


def _renamed(
    reading: Reading, tool: Foreign, arguments: Mapping[str, Any], at: Place
) -> dict[str, Any] | None:
    """A tool's arguments by their names here; None if one is wrong."""
    raw: dict[str, Any] = {}
    is_wrong = False
    reading.places = {}
    for key, value in arguments.items():
        place = (*at, key)
        here = tool.renamed.get(key)
        if here is None:
            hint = meant(key, tool.renamed)
            reading.expressions.tree.error(place, f"unknown argument{hint}")
            is_wrong = True
        elif here in raw and value not in (None, raw[here]):
            first = reading.places[here][-1]
            what = f"means the same as {first}: keep one of them"
            reading.expressions.tree.error(place, what)
            is_wrong = True
        elif value is not None and here:
            wanted = dict if here in _MAPPINGS else str if here in _TEXTS else object
            if isinstance(value, wanted):
                raw[here] = value
                reading.places[here] = place
            else:
                what = "a mapping" if wanted is dict else "a text"
                reading.expressions.tree.error(place, f"expected {what}")
                is_wrong = True
    return None if is_wrong else raw


def _wait(reading: Reading) -> str | None:
    """The parts of a `wait`: a step, a length of time, or a mapping."""
    raw, place = reading.raw["wait"], (*reading.place, "wait")
    parts: dict[str, Any] | None
    if isinstance(raw, dict):
        parts = _parts(reading, place, WaitFields, raw, {"completion_id": "for"})
        if parts is None:
            return None
        reading.is_foreign = "completion_id" in parts and raw.get("for") is None
    else:
        # A length of time begins with a digit, which no id does.
        is_step = isinstance(raw, str) and not raw.strip()[:1].isdigit()
        parts = {"for" if is_step else "seconds": raw}
        reading.places |= {"for": place, "seconds": place}
    if "timeout" in reading.raw:
        parts.setdefault("timeout", reading.raw["timeout"])
    reading.raw = {"wait": raw, **parts}
    return "wait"


def _approval(reading: Reading) -> str | None:
    """The parts of an `approval` that is a step of its own."""
    raw = reading.raw
    parts = approval_parts(reading, raw["approval"])
    if "timeout" in raw:
        parts.setdefault("timeout", raw["timeout"])
    if parts.get("required") is False:
        reading.error("approval", "a step that asks nobody does nothing")
        return None
    reading.raw = {"approval": raw["approval"], **parts}
    return "approval"


def approval_parts(reading: Reading, raw: Any) -> dict[str, Any]:
    """What a person is asked, and how long that may take; with their places."""
    place = (*reading.place, "approval")
    if isinstance(raw, str):
        reading.places["message"] = place
        return {"message": raw}
    if not isinstance(raw, dict):
        return {"required": bool(raw)}
    seconds = {"timeout_seconds": "timeout"}
    return _parts(reading, place, ApprovalFields, raw, seconds) or {}


def _parts(
    reading: Reading,
    place: Place,
    model: type[BaseModel],
    raw: dict[str, Any],
    renamed: Mapping[str, str],
) -> dict[str, Any] | None:
    """The fields of a mapping, by our names too, with their places; None if wrong."""
    whole, _ = check(model, reading.expressions.tree, raw, place)
    parts = {key: value for key, value in raw.items() if value is not None}
    reading.places |= {key: (*place, key) for key in parts}
    for theirs, ours in renamed.items():
        if theirs in parts:
            parts.setdefault(ours, parts[theirs])
            reading.places.setdefault(ours, (*place, theirs))
    return None if whole is None else parts


def _invoked(reading: Reading) -> str | None:
    """`invoke_pipeline`: a name, or a mapping of a name and arguments."""
    raw, place = reading.raw["invoke_pipeline"], (*reading.place, "invoke_pipeline")
    inputs = {"inputs": reading.raw.get("inputs") or {}}
    given = {"name": raw} if isinstance(raw, str) else raw
    parts = _renamed(reading, _INVOKED, given, place)
    if parts is None:
        return None
    if isinstance(raw, str):
        reading.places["pipeline"] = place
    if "pipeline" not in parts:
        message = "expected the name of a pipeline: {name: NAME}"
        reading.expressions.tree.error(place, message)
        return None
    reading.raw = inputs | parts
    return "pipeline"


_SPREAD: Mapping[str, Callable[[Reading], str | None]] = {
    "wait": _wait,
    "approval": _approval,
    "invoke_pipeline": _invoked,
}
