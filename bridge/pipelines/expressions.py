"""The values of a pipeline's steps, compiled: any YAML with `${{ … }}` in its texts.

What an expression may name is checked where it stands:

    inputs.NAME                        an input that is declared
    steps.ID.output   .FIELD           what a step before this one gave
    steps.ID.status   .error           how it ended, and why
    run.id   run.name                  the run itself
    settings.NAME                      what this user has set
    ID.output                          as steps.ID.output: other files write it so
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.agents.expressions import Expressions
from bridge.hints import did_you_mean, meant
from bridge.policy.condition_compiler import compile_condition

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_source import Tree
    from bridge.flow.plan import Code
    from bridge.policy.condition_compiler import Condition

ROOTS = ("inputs", "steps", "run", "settings")
STATUSES = ("pending", "running", "completed", "failed", "skipped", "cancelled")
_OF_STEP = ("output", "status", "error")
_OF_RUN = ("id", "name")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a step that may be named.

    Attributes:
        fields: those of its output; None if any may be there.
        renamed: what fields are called elsewhere, and the code that they stand for.
    """

    fields: Collection[str] | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Scope:
    """What expressions can name: `steps` grows while steps are read, in their order.

    `later` are the steps that are still to come, or this one itself.
    """

    inputs: Collection[str] = ()
    settings: Collection[str] = ()
    steps: dict[str, Known] = field(default_factory=dict)
    later: set[str] = field(default_factory=set)


class ScopedExpressions(Expressions):
    """Compiles the values of one file; what is wrong goes to its tree."""

    def __init__(self, tree: Tree, scope: Scope) -> None:
        super().__init__(tree)
        self.scope = scope

    def resolved(self, place: Place, found: Condition) -> Code:
        """The same code, its names looked up; problems are in the tree."""
        return _Names(self, place).resolved(found.code)


class _Names:
    """Finds what one expression names."""

    def __init__(self, expressions: ScopedExpressions, place: Place) -> None:
        self.tree = expressions.tree
        self.scope = expressions.scope
        self.place = place

    def resolved(self, code: Code) -> Code:
        """The same code, its names looked up; problems are in the tree."""
        match code:
            case ["name", at, name]:
                return self._name(at, name)
            case ["get", at, base, key]:
                return self._get(at, base, key)
            case ["compare", at, *parts]:
                self._check_statuses(parts)
                return ["compare", at, *self._each(parts)]
            case [operation, at, *parts]:
                return [operation, at, *self._each(parts)]
        return code

    def _each(self, parts: list[Code]) -> list[Code]:
        return [self.resolved(part) for part in parts]

    def _name(self, at: int, name: str) -> Code:
        if name in ROOTS:
            return ["name", at, name]
        scope = self.scope
        if name in scope.steps or name in scope.later:
            # Elsewhere the steps stand at the top.
            self._check_step(at, name)
            return ["get", at, ["name", at, "steps"], name]
        known = [f"inputs.{each}" for each in scope.inputs]
        known += [f"steps.{each}" for each in scope.steps]
        ends = {each.partition(".")[2]: each for each in known}
        hint = f"; did you mean {ends[name]}?" if name in ends else ""
        hint = hint or did_you_mean(name, {*known, *ends, *ROOTS})
        there = "; there are inputs.NAME, steps.ID.output, steps.ID.status and run.id"
        self._error(at, f"unknown name {name!r}{hint or there}")
        return ["name", at, name]

    def _get(self, at: int, base: Code, key: Code) -> Code:
        base, key = self.resolved(base), self.resolved(key)
        if not isinstance(key, str):
            return ["get", at, base, key]
        match base:
            case ["name", _, "inputs"]:
                self._check(at, key, self.scope.inputs, "input is called")
            case ["name", _, "run"]:
                self._check(at, key, _OF_RUN, "field of run is called")
            case ["name", _, "settings"] if self.scope.settings:
                self._check(at, key, self.scope.settings, "setting is called")
            case ["name", _, "steps"]:
                self._check_step(at, key)
            case ["get", _, ["name", _, "steps"], str()]:
                self._check(at, key, _OF_STEP, "field of a step is called")
            case ["get", _, ["get", _, ["name", _, "steps"], str(step)], "output"]:
                return self._field(at, base, step, key)
        return ["get", at, base, key]

    def _field(self, at: int, base: Code, step: str, key: str) -> Code:
        known = self.scope.steps.get(step)
        if known is None:
            return ["get", at, base, key]
        if key in known.renamed:
            # As `completed` is elsewhere what `status` says here.
            meant = known.renamed[key].format(f"steps[{step!r}]")
            return compile_condition(meant).code
        if known.fields is not None:
            what = f"field of the output of {step!r} is called"
            self._check(at, key, known.fields, what)
        return ["get", at, base, key]

    def _check_step(self, at: int, name: str) -> None:
        scope = self.scope
        if name in scope.later:
            self._error(at, f"step {name!r} has not run yet here: it stands below")
        else:
            self._check(at, name, scope.steps, "step is called")

    def _check(self, at: int, name: str, known: Collection[str], what: str) -> None:
        if name not in known:
            there = f"; there are {', '.join(known)}" if known else "; there is none"
            hint = did_you_mean(name, known) or there
            self._error(at, f"no {what} {name!r}{hint}")

    def _check_statuses(self, parts: list[Code]) -> None:
        """A status that is compared with a word that no status is."""
        for left, sign, right in zip(parts, parts[1:], parts[2:], strict=False):
            for side, other in ((left, right), (right, left)):
                match side:
                    case ["get", _, ["get", _, ["name", _, "steps"], _], "status"]:
                        pass
                    case ["get", _, ["name", _, str(name)], "status"] if (
                        name in self.scope.steps
                    ):
                        pass
                    case _:
                        continue
                is_text = isinstance(other, str) and sign in ("==", "!=")
                if is_text and other not in STATUSES:
                    hint = meant(other, STATUSES)
                    self._error(side[1], f"no step has the status {other!r}{hint}")

    def _error(self, at: int, message: str) -> None:
        self.tree.error_in(self.place, at, message)
