"""What is wrong in a condition, shown at its place. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from bridge.errors import BridgeError
from bridge.hints import place, quoted


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


def shown(source: str, problem: Problem) -> str:
    """`line:column: message`, the line, and a caret below the place."""
    line, column = place(source, problem.at)
    text = source.split("\n")[line - 1]
    return f"{line}:{column}: {problem.message}\n{quoted(text, column - 1)}"
