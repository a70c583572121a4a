"""Which classes of tools a compiled rule can be about. Pure.

The shell half of a hook looks for an empty file named after the class, and starts
nothing where there is none. A class too many costs a start of Python, a class too few
would lose a rule: in doubt it is one more.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bridge.policy.condition import MAY, ConditionError, decide
from bridge.policy.tool_classes import CLASSES, OTHER, class_of, tools_of

# No tool has this name, so it stands for all that a condition does not name.
_ANOTHER = "\0"
_SAME = frozenset({"==", "!=", "in", "not in"})


def classes_of(rule: Mapping[str, Any]) -> list[str]:
    """The classes of tools that a compiled rule can be about."""
    return [name for name in CLASSES if _is_about(rule, name)]


def _is_about(rule: Mapping[str, Any], name: str) -> bool:
    tools = rule.get("tools")
    if tools is not None and not any(_can_name(tool, name) for tool in tools):
        return False
    if "broken" in rule:
        return True
    when = rule.get("when", True)
    return any(_can_hold(when, tool, name) for tool in _candidates(when, name))


def _can_name(pattern: str, name: str) -> bool:
    """Whether a name or glob of tools can mean one of a class."""
    if "*" not in pattern and "?" not in pattern:
        return class_of(pattern) == name
    start = pattern.replace("?", "*").partition("*")[0]
    if name == OTHER:
        return True
    return any(tool.startswith(start) for tool in tools_of(name))


def _candidates(when: Any, name: str) -> list[Any]:
    """The tools of a class that a condition can tell apart; MAY for any."""
    if name != OTHER:
        return list(tools_of(name))
    named: list[Any] = []
    for values in _compared_with(when):
        if values is None:
            return [MAY]
        named += [v for v in values if isinstance(v, str) and class_of(v) == name]
    return [*named, _ANOTHER]


def _compared_with(code: Any) -> Iterator[list[Any] | None]:
    """What `tool_name` is compared with; None where something else is done with it."""
    if not isinstance(code, list):
        return
    op, *parts = code
    if op == "name":
        if code[2] == "tool_name":
            yield None
        return
    if op == "compare" and _is_tool_name(parts[1]):
        values = [parts[i] for i in range(3, len(parts), 2)]
        signs = [parts[i] for i in range(2, len(parts), 2)]
        flat = [item for value in values for item in _flat(value)]
        if set(signs) <= _SAME and not any(isinstance(v, list) for v in flat):
            yield flat
            return
    for part in parts:
        yield from _compared_with(part)


def _is_tool_name(code: Any) -> bool:
    return isinstance(code, list) and code[0] == "name" and code[2] == "tool_name"


def _flat(value: Any) -> list[Any]:
    is_list = isinstance(value, list) and value[:1] == ["list"]
    return value[2:] if is_list else [value]


class _Unknown(dict[str, Any]):
    """An event of which only the tool is known."""

    def get(self, key: str, default: Any = MAY) -> Any:
        return super().get(key, default)


def _can_hold(when: Any, tool: Any, name: str) -> bool:
    known: dict[str, Any] = {"tool_name": tool}
    if name != "bash":
        known["command"] = None
    try:
        return decide(when, _Unknown(known)) != "no"
    except ConditionError:
        return True
