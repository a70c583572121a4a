"""What is wrong in a flow, shown at its place. Pure."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from bridge.agents.diagnostic import did_you_mean
from bridge.errors import BridgeError
from bridge.policy.condition_problem import Problem, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

# Nobody reads more, and the rest of a file that has so many is no flow.
MAX_PROBLEMS = 50
# Each name takes its time to compare.
_MAX_COMPARED = 300


class InvalidFlow(BridgeError):
    """A flow cannot be used.

    Attributes:
        file: where the flow is from.
        source: the flow, as `problems` count in it.
        problems: in the order of the source.
    """

    code = "invalid_flow"

    def __init__(self, file: str, source: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: problem.at))
        super().__init__("\n".join(f"{file}:{shown(source, p)}" for p in self.problems))


class TooMany(Exception):
    """So many problems that the rest is not looked at."""


class Problems(list[Problem]):
    """Problems as they are found."""

    def add(self, at: int, message: str) -> None:
        """Write down a problem at an offset of the source.

        Raises:
            TooMany: that is enough of them.
        """
        self.append(Problem(at, message))
        if len(self) >= MAX_PROBLEMS:
            raise TooMany


def near(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` where a known name is similar, else nothing."""
    return did_you_mean(word, islice(known, _MAX_COMPARED))
