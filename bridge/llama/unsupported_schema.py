"""Find the part of a JSON Schema that decoding cannot enforce.

A valid schema may still not compile to a grammar. What counts is the schema of a whole
reply: a call, with limits for all texts and lists.
"""

from collections.abc import Iterator
from typing import Any

from bridge.agent_loop.reply_schema import HOLDING, NAMED, call_shape, narrowed
from bridge.llama.grammar import problem_of_shape
from bridge.policy.tool_names import SUBMIT
from bridge.protocol.json_schema import problem_of_schema

# The place of a part, from the top: keywords, names and positions.
Path = tuple[str | int, ...]

# In a schema with more parts than this, the innermost found so far is blamed.
_MAX_LOOKS = 500


def find_problem(schema: dict[str, Any]) -> tuple[Path, str] | None:
    """The innermost part that cannot be compiled by itself, and why; None if all can.

    The path is empty if every part can be compiled and only the whole cannot.
    """
    why = _problem_in_call(schema)
    if why is None:
        return None
    place: Path = ()
    waiting = list(_children(schema))
    for _ in range(_MAX_LOOKS):
        if not waiting:
            break
        way, part = waiting.pop(0)
        problem = _problem_alone(schema, part)
        if problem is not None:
            place, why, waiting = (*place, *way), problem, list(_children(part))
    return place, why


def _problem_in_call(schema: dict[str, Any]) -> str | None:
    """Why decoding cannot enforce a call with this schema; None if it can."""
    why = problem_of_shape(call_shape({SUBMIT: schema}))
    # Without the call, which the caller did not write, the reason is clearer.
    return why and (problem_of_shape(narrowed(schema)) or why)


def _children(part: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The schemas directly in a schema, each with its place there."""
    found: list[tuple[Path, Any]] = []
    for keyword, value in part.items():
        if keyword in NAMED:
            found += [((keyword, name), each) for name, each in value.items()]
        elif keyword in HOLDING and isinstance(value, list):
            found += [((keyword, at), each) for at, each in enumerate(value)]
        elif keyword in HOLDING:
            found.append(((keyword,), value))
    return ((way, each) for way, each in found if isinstance(each, dict))


def _problem_alone(whole: dict[str, Any], part: dict[str, Any]) -> str | None:
    """Why a part cannot be compiled; None also if it refers to the rest."""
    shared = {key: whole[key] for key in ("$defs", "definitions") if key in whole}
    alone = shared | part
    return None if problem_of_schema(alone) else _problem_in_call(alone)
