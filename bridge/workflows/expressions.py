"""Conditions, values and texts of a workflow, compiled, with problems at their places.

A value is text with `${{ … }}` in it; `{{ … }}` around one expression means the same
there, as public files write it. A text for the model is a template.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from bridge.agents import templates
from bridge.agents.diagnostic import Place, describe
from bridge.agents.expressions import Expressions
from bridge.hints import did_you_mean
from bridge.pipelines.foreign import foreign
from bridge.policy.condition import operations
from bridge.policy.condition_compiler import (
    EVENT_NAMES,
    InvalidCondition,
    Problem,
    compile_condition,
    shadowed,
)
from bridge.policy.condition_text import compile_text

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree
    from bridge.policy.condition_compiler import Condition

# Names that no variable of a workflow can have.
OWN_NAMES = ("vars", "tool_failed", "settings")
# What a workflow's conditions know beside its variables.
NAMES = frozenset(
    {*EVENT_NAMES, "vars", "state", "session_id", "tool_failed", "settings"}
)
_BRACES = re.compile(r"(?<!\$)\{\{")


class StepExpressions(Expressions):
    """Compiles what stands in one file; `used` are the variables it asks for.

    Each of those has the first place that does.
    """

    known: frozenset[str]
    way = "; declare it in `variables`, or write variables.{0}"

    def __init__(self, tree: Tree, known: frozenset[str]) -> None:
        super().__init__(tree, known)
        self.used: dict[str, Place] = {}

    def expression(self, place: Place, source: Any) -> Any:
        """A value that is always an expression, such as `tool_output.field`."""
        if not isinstance(source, str):
            return self.value(place, source)
        return self.compiled(place, source, compile_condition)

    def text(self, place: Place, source: str) -> Any:
        """A text with `${{ … }}`, or `{{ … }}`, in it."""
        if "{%" in source:
            self.error(place, "a value has no {% … %}: write ${{ a if b else c }}")
            return None
        return self.compiled(place, source, _compiled_text)

    def error_in(self, place: Place, at: int, message: str) -> None:
        """Say what is wrong with an expression, and what to write in its place."""
        for name, way in foreign("functions").items():
            if f"unknown function '{name}'" in message:
                message = f"unknown function {name!r}; {way}"
        super().error_in(place, at, message)

    def resolved(self, place: Place, found: Condition) -> Any:
        """The code; what it asks for is noted."""
        self._use({name for name, _at in found.names}, place)
        self._check_keys(_fields_of(found.code), place)
        return found.code

    def template(self, place: Place, text: Any) -> str:
        """A text for the model."""
        if not isinstance(text, str) or not text.strip():
            self.error(place, f"expected a text, got {describe(text)}")
            return ""
        names = self.names_in(place, text)
        self._use(names, place)
        for mapping in names & {"variables", "vars"}:
            keys = templates.keys_in(text, mapping) or frozenset()
            self._check_keys(keys, place)
        return text

    def name(self, place: Place, name: Any) -> bool:
        """Whether this can be the name of a variable."""
        wrong = misnamed(name) if isinstance(name, str) else ["expected a name"]
        for problem in wrong:
            self.tree.error(place, problem)
        return not wrong

    def _use(self, names: Collection[str], place: Place) -> None:
        for name in names:
            self.used.setdefault(name, place)

    def _check_keys(self, keys: AbstractSet[str], place: Place) -> None:
        """Variables that are asked for as `variables.NAME`."""
        self._use(keys, place)
        for name in sorted(keys - self.known):
            hint = did_you_mean(name, self.known - NAMES)
            if hint:
                self.tree.warn(place, f"nothing declares the variable {name!r}{hint}")


def _compiled_text(source: str, *, known: Collection[str]) -> Condition:
    """A text in which `{{ … }}` means `${{ … }}`, its problems at their places."""
    try:
        return compile_text(_BRACES.sub("${{", source), known=known)
    except InvalidCondition as error:
        problems = []
        for each in error.problems:
            before = len(_BRACES.findall(source[: each.at]))
            problems.append(Problem(max(0, each.at - before), each.message))
        raise InvalidCondition(source, problems) from None


def misnamed(name: str) -> list[str]:
    """Why conditions of a workflow cannot reach a variable by its name."""
    if name in OWN_NAMES:
        return [f"a condition's {name!r} is the workflow's own: rename the variable"]
    return shadowed([name])


def _fields_of(code: Any) -> set[str]:
    """The variables that compiled code asks for as fields of `variables`."""
    found = set()
    for each in operations(code):
        match each:
            case [
                "get" | "get_or",
                _,
                ["name", _, "variables" | "vars"],
                str(name),
                *_,
            ]:
                found.add(name)
    return found
