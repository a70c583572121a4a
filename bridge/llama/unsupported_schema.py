"""Where in a JSON Schema it stands what a model cannot be held to.

What is looked at is the form in which a reply is held to it: one call, with an end to
every text and list. A schema can be in order where that is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agent_loop.model_policy import policy_for
from bridge.agent_loop.reply_schema import bounded, call_shape
from bridge.llama.grammar import LISTS, NAMED, ONE, problem_of_shape
from bridge.policy.tool_names import SUBMIT
from bridge.protocol.json_schema import problem_of_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.agent_loop.model_policy import ModelPolicy

# Where a part stands, from the top: keywords, names and positions.
Path = tuple[str | int, ...]

# Of a schema with more parts than this, the innermost found so far is blamed.
_MAX_LOOKS = 500


def find_problem(
    schema: dict[str, Any], *, is_small: bool = False
) -> tuple[Path, str] | None:
    """The innermost part that alone cannot be compiled, and why; None for none.

    Where every part is in order, and only their whole is not, the path is empty. A
    small model (`is_small`) is held to shorter texts and lists.
    """
    policy = policy_for(is_small=is_small)
    why = _problem_in_use(schema, policy)
    if why is None:
        return None
    place: Path = ()
    waiting = list(_below(schema))
    for _ in range(_MAX_LOOKS):
        if not waiting:
            break
        way, part = waiting.pop(0)
        said = _problem_alone(schema, part, policy)
        if said is not None:
            place, why, waiting = (*place, *way), said, list(_below(part))
    return place, why


def _problem_in_use(schema: dict[str, Any], policy: ModelPolicy) -> str | None:
    """Why a model cannot be held to a call with this; None where it can."""
    why = problem_of_shape(call_shape({SUBMIT: schema}, policy))
    if why is None:
        return None
    # The same without the call around it, which is none of the asker's words.
    return problem_of_shape(bounded(schema, policy)) or why


def _below(part: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The schemas in a schema, each with its way there."""
    found: list[tuple[Path, Any]] = []
    for keyword, said in part.items():
        if keyword in ONE:
            found.append(((keyword,), said))
        elif keyword in LISTS and isinstance(said, list):
            found += [((keyword, at), each) for at, each in enumerate(said)]
        elif keyword in NAMED and isinstance(said, dict):
            found += [((keyword, name), each) for name, each in said.items()]
    return ((way, each) for way, each in found if isinstance(each, dict))


def _problem_alone(
    whole: dict[str, Any], part: dict[str, Any], policy: ModelPolicy
) -> str | None:
    """Why a part cannot be compiled; None, too, where it refers to the rest."""
    shared: dict[str, Any] = {
        key: whole[key] for key in ("$defs", "definitions") if key in whole
    }
    alone: dict[str, Any] = {**shared, **part}
    if problem_of_schema(alone):
        return None
    return _problem_in_use(alone, policy)
