"""Read a step workflow: its problems, each at its place, and the compiled form.

    name: careful-fix
    variables: {tests_pass: false}
    steps:
      - name: look
        allowed_tools: [Read, Grep]
        on_enter: [{inject_message: "Find the cause. Change nothing yet."}]
        transitions: [{to: fix, when: cause_found}]
    exit_condition: current_step == 'done'

The compiled form is what `bridge.policy.step_workflow` says. A file with an error is
not compiled at all: half a workflow would let pass what the other half refuses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import Diagnostic, Place, describe
from bridge.agents.foreign_fields import OF_AN_AGENT, other_kind
from bridge.agents.validate import check
from bridge.agents.yaml_source import Tree, read_tree
from bridge.hints import did_you_mean
from bridge.pipelines.foreign import without_foreign
from bridge.pipelines.problems import InvalidWorkflow
from bridge.policy.step_workflow import VERSION
from bridge.store.location import with_tilde
from bridge.workflows import steps
from bridge.workflows.actions import ActionReader
from bridge.workflows.expressions import NAMES, StepExpressions, misnamed
from bridge.workflows.fields import StepFields, WorkflowFields
from bridge.workflows.steps import check_paths

if TYPE_CHECKING:
    from bridge.policy.step_record import CompiledWorkflow, PrematureStop

    Json = dict[str, Any]

OWNERS = ("model", "tool")
_SESSIONS = "session_variables"
# Of public files; they say when it begins there.
_WITHOUT_USE = ("enabled", "sources")


@dataclass(frozen=True, slots=True)
class StepWorkflow:
    """A step workflow that was read; `code` is None if it has an error."""

    name: str
    file: Path
    layer: str
    description: str = ""
    mode: str | None = None
    code: CompiledWorkflow | None = None
    problems: tuple[Diagnostic, ...] = ()
    digest: str = ""
    step_names: tuple[str, ...] = field(default=())

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The problems that keep it from being used."""
        return tuple(p for p in self.problems if p.level == "error")

    def compiled(self) -> CompiledWorkflow:
        """The compiled form.

        Raises:
            InvalidWorkflow: the file has an error.
        """
        if self.code is None:
            raise InvalidWorkflow(self.errors)
        return self.code


def read_workflow(
    text: str,
    file: Path,
    layer: str,
    *,
    check_agent: Callable[[str], str | None] = lambda _name: None,
) -> StepWorkflow:
    """Read the text of a step workflow's file.

    Args:
        text: what the file holds.
        file: where it is.
        layer: whose it is.
        check_agent: what is wrong with the name of an agent; None if nothing is.
    """
    tree = read_tree(text, file, keeps_source=True)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    if _is_something_else(tree):
        problems = tuple(tree.problems)
        return StepWorkflow(file.stem, file, layer, problems=problems, digest=digest)
    return read_in(tree, layer, digest, name=file.stem, check_agent=check_agent)


def _is_something_else(tree: Tree) -> bool:
    """Whether a file is of another kind; if so, the tree says what to do with it."""
    value = tree.value
    if other := other_kind(value):
        message = f"this is {other.what}, not a workflow: {other.way}"
        tree.error((other.field,), message)
        return True
    of_agent = sorted(OF_AN_AGENT & value.keys()) if isinstance(value, dict) else []
    if of_agent:
        way = "`hostbridge agents check` says what to do with it"
        tree.error((of_agent[0],), f"this is an agent, not a workflow: {way}")
    return bool(of_agent)


def read_in(
    tree: Tree,
    layer: str,
    digest: str,
    *,
    name: str,
    check_agent: Callable[[str], str | None] = lambda _name: None,
) -> StepWorkflow:
    """Read the step workflow in a tree; `name` if it has none of its own."""
    reader = _Reader(tree, check_agent)
    named = reader.fields.name or name
    code = reader.read(named, layer, digest)
    problems = tuple(sorted(tree.problems, key=lambda p: (p.line, p.column or 0)))
    found = StepWorkflow(
        named,
        tree.file,
        layer,
        " ".join((reader.fields.description or "").split()),
        reader.fields.mode,
        code,
        problems,
        digest,
        tuple(reader.names),
    )
    return replace(found, code=None) if found.errors else found


class _Reader:
    def __init__(self, tree: Tree, check_agent: Callable[[str], str | None]) -> None:
        self.tree = tree
        self.check_agent = check_agent
        self.value = tree.value
        self.names: dict[str, int] = {}
        _, self.fields = check(WorkflowFields, tree, self._known())

    def _known(self) -> Any:
        """The fields, without those that are obeyed elsewhere or nowhere."""
        if not isinstance(self.value, dict):
            return self.value
        owned = without_foreign(self.tree, (), self.value, "workflow")
        return {key: each for key, each in owned.items() if key != "owners"}

    def read(self, name: str, layer: str, digest: str) -> CompiledWorkflow | None:
        """The compiled workflow; its problems are in the tree."""
        if not isinstance(self.value, dict):
            return None
        fields, tree = self.fields, self.tree
        for key in _WITHOUT_USE:
            if getattr(fields, key) is not None:
                way = "it begins with `hostbridge workflow activate`, or by an agent"
                tree.warn((key,), f"changes nothing here: {way}")
        declared = self._variables()
        found = self._steps()
        sets = self._set_in(found)
        owners = self._owners(declared, sets)
        expressions = StepExpressions(tree, NAMES.union(declared, sets))
        where = with_tilde(tree.file)
        actions = ActionReader(tree, expressions, where, self.check_agent)
        compiled = {}
        for number, (place, step) in enumerate(found):
            after = found[number + 1][1].name if number + 1 < len(found) else None
            reader = steps.StepReader(place, actions, step)
            compiled[step.name] = reader.read(self.names, after)
        place = ("exit_condition",)
        code: CompiledWorkflow = {
            "version": VERSION,
            "name": name,
            "file": where,
            "layer": layer,
            "digest": digest,
            "first": next(iter(compiled), ""),
            "variables": declared,
            "computed": self._computed(declared),
            "made": sorted(sets.keys() - declared.keys()),
            "owners": owners,
            "steps": compiled,
            "exit": None,
            "exitAt": f"{where}:{tree.line_of(place)}",
            "stop": self._stop(expressions),
        }
        if fields.exit_condition is not None:
            code["exit"] = expressions.condition(place, fields.exit_condition)
        else:
            tree.warn(
                (),
                "has no exit_condition: it ends only by `hostbridge workflow end`",
            )
        check_paths(tree, code, self.names)
        self._check_use(declared, sets, expressions)
        return code

    def _variables(self) -> Json:
        declared: Json = {}
        for key in (_SESSIONS, "variables"):
            given = getattr(self.fields, key)
            for name, value in given.items():
                place = (key, name)
                for why in misnamed(name):
                    self.tree.error(place, why)
                declared[name] = value
        # Of public files: it says how often a premature stop is refused.
        declared.pop("premature_stop_max_attempts", None)
        return declared

    def _computed(self, declared: Json) -> Json:
        """First values that ask for a setting: `${{ settings.NAME }}`."""
        expressions = StepExpressions(self.tree, frozenset({"settings"}))
        found = {}
        for name, value in declared.items():
            if isinstance(value, str) and "${{" in value:
                key = "variables" if name in self.fields.variables else _SESSIONS
                place = (key, name)
                found[name] = expressions.value(place, value)
                declared[name] = None
        return found

    def _steps(self) -> list[tuple[Place, StepFields]]:
        """The steps with their places; those without a name are left out."""
        found: list[tuple[Place, StepFields]] = []
        if not self.fields.steps:
            self.tree.error(("steps",), "has no steps")
        for number, value in enumerate(self.fields.steps):
            place = ("steps", number)
            step = steps.fields_of(self.tree, place, value)
            if step is None:
                continue
            line = self.tree.line_of(place)
            if step.name in self.names:
                message = f"line {self.names[step.name]} has a step of this name"
                self.tree.error((*place, "name"), message)
                continue
            self.names[step.name] = line
            found.append((place, step))
        return found

    def _set_in(self, found: list[tuple[Place, StepFields]]) -> dict[str, str]:
        """The variables that steps set, and whose: they are read for that alone first.

        What is wrong is said when they are read with all names known.
        """
        tree = replace(self.tree, problems=[])
        actions = ActionReader(
            tree, StepExpressions(tree, NAMES), "", lambda _name: None
        )
        for place, step in found:
            steps.StepReader(place, actions, step).read(self.names, None)
        return actions.sets

    def _owners(self, declared: Json, sets: dict[str, str]) -> dict[str, str]:
        """Whose variables are that are no model's."""
        owners = {name: owner for name, owner in sets.items() if owner != "model"}
        said = self.value.get("owners")
        if not isinstance(said, dict | None):
            what = f"expected owners by variable, got {describe(said)}"
            self.tree.error(("owners",), what)
            said = None
        for name, owner in (said or {}).items():
            place = ("owners", name)
            if owner not in OWNERS:
                hint = did_you_mean(str(owner), OWNERS)
                what = f"expected model or tool, got {describe(owner)}{hint}"
                self.tree.error(place, what)
            elif name not in {*declared, *sets}:
                hint = did_you_mean(name, declared)
                self.tree.error(place, f"no variable is named {name!r}{hint}")
            else:
                owners[name] = owner
        return {name: owner for name, owner in owners.items() if owner != "model"}

    def _stop(self, expressions: StepExpressions) -> PrematureStop | None:
        value = self.fields.on_premature_stop
        if value is None:
            return None
        place = ("on_premature_stop",)
        stop = steps.stop_in(self.tree, place, value, expressions)
        often = self.fields.variables.get("premature_stop_max_attempts")
        if stop is not None and isinstance(often, int) and often > 0:
            given = value.get("max") if isinstance(value, dict) else None
            stop["max"] = given or often
        return stop

    def _check_use(
        self, declared: Json, sets: Json, expressions: StepExpressions
    ) -> None:
        for name in declared:
            if name not in expressions.used and name not in sets:
                key = "variables" if name in self.fields.variables else _SESSIONS
                place = (key, name)
                self.tree.warn(place, "no step asks for this variable, or sets it")
