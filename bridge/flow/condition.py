"""The conditions of flows: about the last step, or about variables. Pure.

    passed  success  failed  issues     the last step that ran, or all of the last group
    all passed   any failed   no issues
    {fixes}  {scan.found} > 0  fixes    what a step made

A compiled condition asks for `passed`, `success`, `failed`, `issues`, for `all` and
`any`, which have these as fields, for `variables`, what the steps made, and, where it
names a field, for `answers`, from which that was made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bridge.flow.problems import near
from bridge.policy.condition_compiler import (
    InvalidCondition,
    Problem,
    compile_condition,
)

if TYPE_CHECKING:
    Code = Any
    Names = tuple[tuple[str, int], ...]

WORDS = ("passed", "success", "failed", "issues")
_ENDS = frozenset({"passed", "success", "failed"})
_GROUPS = frozenset({"all", "any"})


@dataclass(frozen=True, slots=True)
class FlowCondition:
    """A condition; `words` and `variables` are what it asks for, with offsets in it."""

    source: str
    code: Code = field(compare=False, repr=False)
    words: Names = field(compare=False, repr=False)
    variables: Names = field(compare=False, repr=False)

    @property
    def catches(self) -> bool:
        """Whether it asks how a step ended, so that a failure is not the run's."""
        return any(word in _ENDS for word, _ in self.words)


def read_condition(source: str) -> FlowCondition:
    """Compile a condition.

    Raises:
        InvalidCondition: with every problem that could be found.
    """
    reader = _Reader(source)
    code = reader.read(compile_condition(source, is_flow=True).code)
    if reader.problems:
        raise InvalidCondition(source, reader.problems)
    return FlowCondition(source, code, tuple(reader.words), tuple(reader.variables))


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.words: list[tuple[str, int]] = []
        self.variables: list[tuple[str, int]] = []
        self.problems: list[Problem] = []

    def read(self, code: Code) -> Code:
        """The same code, with variables where a run has them."""
        match code:
            case ["get", _, ["name", at, group], word] if self._is_group(group, at):
                self._word(group, str(word), at)
                return code
            case ["get", at, ["name", at_name, name], field]:
                return ["get", at, self._name(at_name, name, "answers"), field]
            case ["name", at, name]:
                return self._name(at, name, "variables")
            case [operation, at, *parts]:
                return [operation, at, *map(self.read, parts)]
        return code

    def _name(self, at: int, name: str, kept_in: str) -> Code:
        if self._is_group(name, at):
            self._word(name, "", at)
        elif name in WORDS and not self._is_reference(at):
            self.words.append((name, at))
            return ["name", at, name]
        self.variables.append((name, at))
        return ["get", at, ["name", at, kept_in], name]

    def _word(self, group: str, word: str, at: int) -> None:
        self.words.append((word, at))
        if word not in WORDS:
            message = (
                f"{group} is followed by one of {', '.join(WORDS)}{near(word, WORDS)}"
            )
            self.problems.append(Problem(at, message))

    def _is_group(self, name: str, at: int) -> bool:
        return name in _GROUPS and not self._is_reference(at)

    def _is_reference(self, at: int) -> bool:
        return self.source[:at].rstrip().endswith("{")
