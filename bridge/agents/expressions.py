"""Conditions, values and templates of a file, compiled, with problems at their places.

Pipelines, step workflows and rules each say which names there are, and what to do
about one that there is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import describe
from bridge.agents.fields import template_names
from bridge.hints import did_you_mean
from bridge.policy.condition_compiler import InvalidCondition, compile_condition
from bridge.policy.condition_text import compile_text, compile_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_source import Tree
    from bridge.policy.condition_compiler import Condition

    Code = Any


class Expressions:
    """Compiles what stands in one file.

    Attributes:
        tree: the file; problems go there.
        known: names that conditions and texts may ask for; None if `resolved` looks.
    """

    # What to do about a name in a template that is like no other.
    way = ""

    def __init__(self, tree: Tree, known: frozenset[str] | None = None) -> None:
        self.tree = tree
        self.known = known

    def condition(self, place: Place, source: Any) -> Code:
        """A compiled condition; one that is wrong never holds."""
        if isinstance(source, bool):
            return source
        if not isinstance(source, str):
            self.error(place, f"expected a condition, got {describe(source)}")
            return False
        code = self.compiled(place, source, compile_condition)
        return False if code is None else code

    def value(self, place: Place, value: Any) -> Code:
        """Any YAML: itself, or what `${{ … }}` in its texts says."""
        return compile_value(value, place, lambda text, at: self.text(at, text))

    def text(self, place: Place, source: str) -> Code:
        """A text; what is one expression and nothing else keeps its type."""
        return self.compiled(place, source, compile_text)

    def compiled(
        self, place: Place, source: str, how: Callable[..., Condition]
    ) -> Code:
        """The code of a source; None, with its problems in the tree, if it is wrong."""
        try:
            found = how(source, known=self.known)
        except InvalidCondition as error:
            for problem in error.problems:
                self.error_in(place, problem.at, problem.message)
            return None
        return self.resolved(place, found)

    def resolved(self, _place: Place, found: Condition) -> Code:
        """The code, its names looked up."""
        return found.code

    def names_in(self, place: Place, template: str) -> frozenset[str]:
        """The names in a template, unknown ones reported; none if it is not one."""
        names = template_names(self.tree, place, template) or frozenset()
        for name in sorted(names - (self.known or names)):
            hint = did_you_mean(name, self.known or ()) or self.way.format(name)
            self.error(place, f"unknown name {name!r}{hint}")
        return names

    def error(self, place: Place, message: str) -> None:
        """Say that something is wrong."""
        self.tree.error(place, message)

    def error_in(self, place: Place, at: int, message: str) -> None:
        """The same of one character of a text."""
        self.tree.error_in(place, at, message)
