"""What is wrong in a condition, shown at its place. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from bridge.errors import BridgeError


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in a condition; `at` is the offset in its source."""

    at: int
    message: str


class InvalidCondition(BridgeError):
    """A condition cannot be compiled; `problems` are in the order of the source."""

    code = "invalid_condition"

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: problem.at))
        super().__init__("\n".join(shown(source, p) for p in self.problems))


def place(source: str, at: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    before = source[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


def shown(source: str, problem: Problem) -> str:
    """`line:column: message`, the line, and a caret below the place."""
    line, column = place(source, problem.at)
    end = source.find("\n", problem.at)
    text = source[problem.at - column + 1 : end if end >= 0 else None]
    text = text.replace("\t", " ")
    # A long line is cut to what is around the place.
    start = max(0, column - 60)
    cut = text[start : start + 80]
    caret = " " * (column - 1 - start) + "^"
    return f"{line}:{column}: {problem.message}\n    {cut}\n    {caret}"
