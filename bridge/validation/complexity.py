"""How much a change asks for, and which validators look at it: one table. Pure.

Every file of a change raises it or leaves it as it is: more of a change never means
fewer validators, and what a change says or calls its files cannot lower it.
"""

from dataclasses import dataclass
from enum import StrEnum

from bridge.change.change import Change


class Complexity(StrEnum):
    """How much there is to look at, from the least to the most."""

    TRIVIAL = "trivial"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a change asks for.

    Attributes:
        complexity: how much it is.
        kinds: the kinds of change in it: docs, tests, code, build, agents, security.
        reasons: why it is not less, in words.
        validators: the built-in ones that are to look at it, the quickest first.
        parsable: the files that `validator-syntax` can parse, for its task.
    """

    complexity: Complexity
    kinds: tuple[str, ...]
    reasons: tuple[str, ...]
    validators: tuple[str, ...]
    parsable: tuple[str, ...] = ()


VALIDATORS = {
    Complexity.TRIVIAL: ("validator-logic",),
    Complexity.LOW: ("validator-syntax", "validator-logic"),
    Complexity.MEDIUM: ("validator-syntax", "validator-logic", "validator-security"),
    Complexity.HIGH: (
        "validator-syntax",
        "validator-logic",
        "validator-security",
        "validator-integration",
    ),
}


def assess(change: Change) -> Assessment:
    """What a change asks for."""
    lines = sum((each.added or 0) + (each.removed or 0) for each in change.files)
    complexity = Complexity.LOW if lines < 100 else Complexity.HIGH  # noqa: PLR2004
    return Assessment(complexity, (), (), VALIDATORS[complexity])
