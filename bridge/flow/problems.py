"""What is wrong in a flow, shown at its place. Pure."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.agents.diagnostic import Diagnostic
from bridge.errors import BridgeError
from bridge.hints import did_you_mean, place
from bridge.policy.condition_compiler import Problem, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.agents.diagnostic import Level

# Nobody reads more, and the rest of a file that has so many is no flow.
MAX_PROBLEMS = 50
# Each name takes its time to compare.
_MAX_COMPARED = 300


class InvalidFlow(BridgeError):
    """A flow cannot be used.

    Attributes:
        problems: each at its place, in the order of the source.
    """

    # As the errors beside it: where people import it from.
    __module__ = "bridge"
    code = "invalid_flow"

    def __init__(self, file: str, source: str, problems: Iterable[Problem]) -> None:
        self.problems = tuple(diagnostics(file, source, problems))
        super().__init__("\n".join(map(str, self.problems)))


def diagnostics(
    file: str, source: str, problems: Iterable[Problem], level: Level = "error"
) -> Iterator[Diagnostic]:
    """Problems with their places in a file, in the order of the source."""
    for problem in sorted(problems, key=lambda problem: problem.at):
        line, column = place(source, problem.at)
        _, quoted = shown(source, problem).split("\n", 1)
        yield Diagnostic(Path(file), line, (), problem.message, level, column, quoted)


class TooMany(Exception):
    """So many problems that the rest is not looked at."""


class Problems(list[Problem]):
    """Problems as they are found."""

    def add(self, at: int, message: str) -> None:
        """Write down a problem at an offset of the source, in one line.

        Raises:
            TooMany: that is enough of them.
        """
        self.append(Problem(at, message.replace("\n", " ")))
        if len(self) >= MAX_PROBLEMS:
            raise TooMany

    def forget(self, at: int) -> None:
        """Strike out what another problem explains."""
        self[:] = [problem for problem in self if problem.at != at]


class Findings(NamedTuple):
    """What keeps a flow from running, and what may be a mistake."""

    errors: Problems
    warnings: Problems


def near(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` where a known name is similar, else nothing."""
    return did_you_mean(word, islice(known, _MAX_COMPARED))
