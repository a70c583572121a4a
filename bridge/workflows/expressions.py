"""Conditions, values and texts of a workflow, compiled, with problems at their places.

A value is text with `${{ … }}` in it; `{{ … }}` around one expression means the same
there, as public files write it. A text for the model is a template.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bridge.agents import templates
from bridge.agents.diagnostic import Place, describe
from bridge.agents.fields import template_names
from bridge.hints import did_you_mean
from bridge.pipelines.foreign import foreign
from bridge.policy.condition_compiler import (
    EVENT_NAMES,
    InvalidCondition,
    compile_condition,
    shadowed,
)
from bridge.policy.condition_text import compile_text, compile_value

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


@dataclass(slots=True)
class Expressions:
    """Compiles what stands in one file.

    Attributes:
        tree: the file; problems go there.
        known: names that conditions and texts may ask for.
        used: variables that are asked for, with the first place of each.
    """

    tree: Tree
    known: frozenset[str]
    used: dict[str, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: Tree, variables: Collection[str]) -> Expressions:
        """Those of a file whose variables are these."""
        return cls(tree, frozenset({*variables, *NAMES}))

    def condition(self, place: Place, source: Any) -> Any:
        """A compiled condition; one that is wrong never holds."""
        if isinstance(source, bool):
            return source
        if not isinstance(source, str):
            message = f"expected a condition, got {describe(source)}"
            self.tree.error(place, message)
            return False
        found = self._compiled(place, source, is_text=False)
        return False if found is None else found.code

    def expression(self, place: Place, source: Any) -> Any:
        """A value that is always an expression, such as `tool_output.field`."""
        if not isinstance(source, str):
            return self.value(place, source)
        found = self._compiled(place, source, is_text=False)
        return None if found is None else found.code

    def value(self, place: Place, value: Any) -> Any:
        """A value: itself, or what `${{ … }}` in it says."""
        return compile_value(value, place, self._text)

    def _text(self, text: str, place: Place) -> Any:
        found = self._compiled(place, text, is_text=True)
        return None if found is None else found.code

    def template(self, place: Place, text: Any) -> str:
        """A text for the model."""
        if not isinstance(text, str) or not text.strip():
            self.tree.error(place, f"expected a text, got {describe(text)}")
            return ""
        names = template_names(self.tree, place, text)
        if names is None:
            return text
        self._use(names, place)
        for name in sorted(names - self.known):
            self.tree.error(place, f"unknown name {name!r}{self._way(name)}")
        if "variables" in text or "vars" in text:
            for mapping in ("variables", "vars"):
                keys = templates.keys_in(text, mapping) or frozenset()
                self._check_keys(keys, place)
        return text

    def name(self, place: Place, name: Any) -> bool:
        """Whether this can be the name of a variable."""
        wrong = misnamed(name) if isinstance(name, str) else ["expected a name"]
        for problem in wrong:
            self.tree.error(place, problem)
        return not wrong

    def _compiled(
        self, place: Place, source: str, *, is_text: bool
    ) -> Condition | None:
        try:
            if not is_text:
                compiled = compile_condition(source, known=self.known)
            elif "{%" in source:
                self.tree.error(
                    place, "a value has no {% … %}: write ${{ a if b else c }}"
                )
                return None
            else:
                compiled = compile_text(_BRACES.sub("${{", source), known=self.known)
        except InvalidCondition as error:
            for problem in error.problems:
                before = len(_BRACES.findall(source[: problem.at])) if is_text else 0
                at = max(0, problem.at - before)
                self.tree.error_in(place, at, _explained(problem.message))
            return None
        self._use({name for name, _at in compiled.names}, place)
        self._check_keys(_fields_of(compiled.code), place)
        return compiled

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

    def _way(self, name: str) -> str:
        return did_you_mean(name, self.known) or (
            f"; declare it in `variables`, or write variables.{name}"
        )


def misnamed(name: str) -> list[str]:
    """Why conditions of a workflow cannot reach a variable by its name."""
    if name in OWN_NAMES:
        return [f"a condition's {name!r} is the workflow's own: rename the variable"]
    return shadowed([name])


def _fields_of(code: Any) -> set[str]:
    """The variables that compiled code asks for as fields of `variables`."""
    if not isinstance(code, list):
        return set()
    found = {name for part in code[2:] for name in _fields_of(part)}
    if len(code) > 3 and code[0] in ("get", "get_or") and isinstance(code[3], str):  # noqa: PLR2004 - op, at, base, key
        base = code[2]
        names = ("variables", "vars")
        if isinstance(base, list) and base[0] == "name" and base[2] in names:
            found.add(code[3])
    return found


def _explained(message: str) -> str:
    for name, way in foreign("functions").items():
        if f"unknown function '{name}'" in message:
            return f"unknown function {name!r}; {way}"
    return message
