"""A pipeline read from YAML, every problem in it at its place.

name: nightly
inputs: {branch: main}
allow: ["Bash(pytest [-q] *)"]
steps:
  - {id: tests, exec: [pytest, -q], on_failure: skip}
  - id: fix
    condition: steps.tests.status == "failed"
    agent: developer
    prompt: "Mend this: ${{ steps.tests.output.stdout }}"
outputs: {summary: "${{ steps.fix.output.summary }}"}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import describe
from bridge.agents.fields import check_rules
from bridge.agents.validate import check
from bridge.agents.yaml_source import read_tree
from bridge.flow.parameters import TYPES, fits
from bridge.pipelines.expressions import Scope, ScopedExpressions
from bridge.pipelines.fields import InputFields, PipelineFields
from bridge.pipelines.pipeline import NOTHING_AROUND, Pipeline, Surroundings
from bridge.pipelines.step_reader import StepReader
from bridge.policy.variable_record import misnamed

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_source import Tree
    from bridge.flow.plan import Input

MAX_STEPS = 1_000
_OF_INPUT = frozenset(InputFields.model_fields)


def read_pipeline(
    text: str, file: Path, around: Surroundings = NOTHING_AROUND
) -> Pipeline:
    """Read a pipeline; what is wrong with it is in its `problems`, never raised."""
    tree = read_tree(text, file, keeps_source=True)
    whole, fields = check(PipelineFields, tree)
    source: dict[str, Any] = tree.value if isinstance(tree.value, dict) else {}
    allow = [each for each in fields.allow if isinstance(each, str)]
    check_rules(tree, ("allow",), allow)
    inputs = _inputs(tree, source)
    raw_steps = fields.steps if isinstance(fields.steps, list) else []
    names = (each.get("id") for each in raw_steps if isinstance(each, dict))
    later = {name for name in names if isinstance(name, str)}
    expressions = ScopedExpressions(tree, Scope(inputs, around.settings, {}, later))
    reader = StepReader(expressions, around, allow)
    if tree.value is not None and not raw_steps:
        tree.error(("steps",), "a pipeline has at least one step")
    if len(raw_steps) > MAX_STEPS:
        tree.error(("steps",), f"{len(raw_steps)} steps; at most {MAX_STEPS:,}")
        raw_steps = raw_steps[:MAX_STEPS]
    read = [reader.read(raw, ("steps", at)) for at, raw in enumerate(raw_steps)]
    outputs = None
    if fields.outputs:
        outputs = expressions.value(("outputs",), fields.outputs)
    order = {"error": 0, "warning": 1}
    problems = sorted(
        tree.problems, key=lambda each: (order[each.level], each.line, each.column or 0)
    )
    return Pipeline(
        name=fields.name if isinstance(fields.name, str) and fields.name else file.stem,
        file=file,
        source=text,
        description=fields.description if whole else "",
        inputs=inputs,
        steps=tuple(each for each in read if each is not None),
        outputs=outputs,
        allow=tuple(allow),
        problems=tuple(problems),
    )


def _inputs(tree: Tree, source: dict[str, Any]) -> dict[str, Input]:
    """What a pipeline takes, under `inputs` or, as elsewhere, `params`."""
    found: dict[str, Input] = {}
    for key in ("inputs", "params"):
        given = source.get(key)
        if not isinstance(given, dict):
            continue
        if found:
            tree.error((key,), "inputs and params are the same: use inputs")
        for name, raw in given.items():
            for wrong in misnamed([name]):
                tree.error((key, name), wrong)
            found[name] = _input(tree, (key, name), raw)
    return found


def _input(tree: Tree, place: Place, raw: Any) -> Input:
    """An input in its long form, or its default alone."""
    is_long = isinstance(raw, dict) and bool(raw.keys() & _OF_INPUT)
    if not is_long:
        is_any = raw is None
        kind: Any = "any" if is_any else next(t for t in TYPES if fits(raw, t))
        return {"type": kind, "required": False, "default": raw}
    _, fields = check(InputFields, tree, raw, place)
    default = raw.get("default")
    found: Input = {"type": fields.type, "required": bool(fields.required)}
    if "default" in raw:
        found["default"] = default
    if fields.description:
        found["description"] = fields.description
    if default is not None and not fits(default, fields.type):
        message = f"expected {fields.type}, got {describe(default)}"
        tree.error((*place, "default"), message)
    if default is not None and fields.required:
        tree.error((*place, "required"), "what has a default need not be given")
    return found
