"""Parts of a condition that are never all true, whatever they ask about is. Pure.

    tool_name == "Edit" and tool_name == "Write"        depth > 3 and depth < 2
    event.name == "PreToolUse"                          depth == "1"

What asks about one name, and nothing else, is tried with each value that it can be: the
literals that it has to equal, or numbers at its bounds, between and beyond them. What
may be any other value is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import inf
from typing import Any

from bridge.policy.condition import ConditionError, decide
from bridge.policy.rule_set import EVENTS

Path = tuple[str, ...]
_FALSY: tuple[Any, ...] = (None, False, 0, "", [], {})
_BOUNDS = frozenset({"<", "<=", ">", ">=", "!="})
_TEXTS = frozenset({"tool_name", "command", "agent", "cwd", "workflow", "current_step"})
_STARTS = ("startup", "resume", "clear", "compact")


def contradiction(code: Any, event: str) -> str | None:
    """Why a comparison, or what `and` joins, is never true; None if it may be."""
    if not isinstance(code, list) or code[0] not in ("and", "compare"):
        return None
    asked: dict[Path, list[Any]] = {}
    for part in _joined(code):
        paths = {*_paths(part)}
        if len(paths) == 1:
            asked.setdefault(paths.pop(), []).append(part)
    for path, parts in asked.items():
        values = _values(parts)
        if values is None:
            continue
        name = ".".join(path)
        fitting = [each for each in values if _is_all_of(parts, path, each)]
        if not fitting:
            return f"this is never true: no {name} is all that is asked of it"
        if not any(_can_be(path, each, event) for each in fitting):
            return f"this is never true: {name} is {_domain(path, event)} there"
    return None


def path_of(code: Any) -> Path | None:
    """The names that lead to a value: `event.data` is two."""
    match code:
        case ["name", _, str(name)]:
            return (name,)
        case ["get", _, base, str(key)] | ["get_or", _, base, str(key), *_]:
            above = path_of(base)
            return None if above is None else (*above, key)
    return None


def _joined(code: Any) -> Iterator[Any]:
    match code:
        case ["and", _, *parts]:
            for part in parts:
                yield from _joined(part)
        case list():
            yield code


def _paths(code: Any) -> Iterator[Path]:
    if path := path_of(code):
        yield path
    elif isinstance(code, list):
        for part in code:
            yield from _paths(part)


def _values(parts: list[Any]) -> list[Any] | None:
    """What it can be, as far as that matters; None if it can be anything."""
    chains = []
    for part in parts:
        match part:
            case ["compare", _, left, "==" | "is", right] if _is_literal(left, right):
                return [right if path_of(left) else left]
            case ["compare", _, left, "in", ["list", _, *values]] if path_of(left):
                return None if any(isinstance(e, list) for e in values) else values
            case ["not", _, asked] if path_of(asked):
                return [*_FALSY]
            case ["compare", _, *chain] if _BOUNDS.issuperset(chain[1::2]):
                chains.append(chain)
    numbers = [each for chain in chains for each in chain[::2] if not path_of(each)]
    is_all = len(chains) == len(parts)
    if not is_all or not all(isinstance(each, int | float) for each in numbers):
        return None
    bounds = sorted({*numbers})
    between = [(one + other) / 2 for one, other in pairwise(bounds)]
    return [-inf, *bounds, *between, inf]


def _is_literal(left: Any, right: Any) -> bool:
    """Whether one side is a name, and the other a literal."""
    name, other = (left, right) if path_of(left) else (right, left)
    return path_of(name) is not None and not isinstance(other, list)


def _is_all_of(parts: list[Any], path: Path, value: Any) -> bool:
    scope = value
    for name in reversed(path):
        scope = {name: scope}
    try:
        return all(decide(part, scope) != "no" for part in parts)
    except (ConditionError, KeyError):
        return True


def _can_be(path: Path, value: Any, event: str) -> bool:
    if value is None:
        return True
    if path == ("event", "name"):
        return bool(value == event)
    if path == ("event", "source"):
        return value in _sources(event)
    if path == ("depth",):
        return isinstance(value, int | float)
    return not (len(path) == 1 and path[0] in _TEXTS) or isinstance(value, str)


def _domain(path: Path, event: str) -> str:
    if path == ("event", "name"):
        return repr(event)
    if path == ("event", "source"):
        return " or ".join(map(repr, _sources(event)))
    return "a number" if path == ("depth",) else "a text"


def _sources(event: str) -> tuple[str, ...]:
    """What `event.source` is: how a session begins, or the client's name of it."""
    names = tuple(name for name, ours in EVENTS.items() if ours == event)
    return _STARTS if event == "on_session_start" else names
