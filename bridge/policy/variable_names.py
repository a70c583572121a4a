"""Names of variables that conditions cannot ask for. Pure."""

from collections.abc import Iterable

from bridge.policy.condition_compiler import CONSTANTS, EVENT_NAMES, FUNCTIONS
from bridge.policy.variable_record import misnamed


def shadowed(variables: Iterable[str]) -> list[str]:
    """Variables that no condition can reach by their names, with the reason.

    It is no name, one of the event's hides it, or it is a word or a function.
    """
    variables = list(variables)
    return misnamed(variables) + [
        f"a condition's {name!r} is {reason}: rename the variable"
        for name in variables
        for reason in [_taken(name)]
        if reason
    ]


def _taken(name: str) -> str | None:
    if name in EVENT_NAMES:
        return "the event's"
    if name in FUNCTIONS:
        return "a function"
    words = {"and", "or", "not", "in", "is", "if", "else", "True", "False", "None"}
    return "a word of its own" if name in words | set(CONSTANTS) else None
