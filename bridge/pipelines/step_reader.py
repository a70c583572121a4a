"""One step of a pipeline: which kind it is, and what all kinds have."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.agents.validate import check
from bridge.flow.drawing import bare
from bridge.hints import did_you_mean
from bridge.pipelines.expressions import Known
from bridge.pipelines.fields import StepFields
from bridge.pipelines.pipeline import PipelineStep, Repeat
from bridge.pipelines.reading import Reading
from bridge.pipelines.spellings import approval_parts, one_form
from bridge.pipelines.step_kinds import KINDS
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_source import Tree
    from bridge.flow.details import Template
    from bridge.flow.plan import Code, Step
    from bridge.pipelines.expressions import ScopedExpressions
    from bridge.pipelines.pipeline import Surroundings

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,55}\Z")
# Of what is kept for a drawing, which cuts it again once its values are filled in.
_MOST_SHOWN = 240
_ALL_HAVE = frozenset(
    ("id", "name", "description", "condition", "retries", "on_failure", "repeat")
)


class StepReader:
    """Reads the steps of one file, in their order."""

    def __init__(
        self, expressions: ScopedExpressions, around: Surroundings, allow: list[str]
    ) -> None:
        self.expressions = expressions
        self.tree: Tree = expressions.tree
        self.around = around
        self.allow = allow

    def read(self, raw: Any, place: Place) -> PipelineStep | None:
        """A step; None if it has no id, or does nothing."""
        whole, _ = check(StepFields, self.tree, raw, place)
        if not isinstance(raw, dict):
            return None
        raw = {key: value for key, value in raw.items() if value is not None}
        name = self._id(raw, place)
        kind = self._kind(raw, place)
        made = None
        if whole is not None and kind is not None:
            reading = Reading(
                name, raw, place, self.expressions, self.around, self.allow
            )
            found = one_form(reading, kind)
            read = KINDS[found].read if found else None
            made = (reading, read(reading)) if read else None
        scope = self.expressions.scope
        scope.later.discard(name)
        if name:
            scope.steps[name] = Known()
        if made is None:
            return None
        reading, said = made
        condition = self._condition(raw, place)
        if name:
            scope.steps[name] = said.known
        line = self.tree.line_of(place)
        column = self.tree.columns.get((*place, "id"))
        node: Step = said.node
        node["at"] = f"{self.tree.file.name}:{line}" + (f":{column}" if column else "")
        if raw.get("retries"):
            node["retry"] = raw["retries"]
        if "on_failure" in raw:
            node["on_failure"] = raw["on_failure"]
        detail = said.detail
        detail |= {"line": line, "says": one_line(said.says, _MOST_SHOWN)}
        if column:
            detail["column"] = column
        if isinstance(raw.get("condition"), str):
            detail["condition"] = raw["condition"].strip()
        return PipelineStep(
            name,
            said.kind,
            node,
            detail,
            condition,
            self._repeat(raw, place),
            self._question(reading, raw) if kind != "approval" else None,
        )

    def _id(self, raw: Mapping[str, Any], place: Place) -> str:
        name = raw.get("id")
        if not isinstance(name, str):
            return ""
        if not _ID.match(name):
            message = "expected letters, digits, _ and -, at most 56, a letter first"
            self.tree.error((*place, "id"), message)
        elif name in self.expressions.scope.steps:
            self.tree.error((*place, "id"), f"there is a step {name!r} above")
        return name

    def _kind(self, raw: Mapping[str, Any], place: Place) -> str | None:
        """The field that says what a step does."""
        found = [each for each in KINDS if each in raw]
        if "agent" in found:
            found = [each for each in found if each not in ("prompt", "worktree")]
        elif "prompt" in found:
            found = [each for each in found if each != "worktree"]
        if len(found) > 1 and "approval" in found:
            found.remove("approval")
        if not found and raw.keys() - StepFields.model_fields.keys():
            # What is misspelt may be what it does.
            return None
        if not found:
            self.tree.error(place, f"does nothing; give it one of {', '.join(KINDS)}")
            return None
        if len(found) > 1:
            both = " and ".join(found)
            self.tree.error((*place, found[1]), f"a step does one thing, not {both}")
            return None
        kind = found[0]
        own = KINDS[kind].takes.split()
        allowed = _ALL_HAVE | {*own, kind, "approval"}
        for key in raw.keys() & StepFields.model_fields.keys():
            if key not in allowed:
                takes = ", ".join(sorted(own)) or "nothing more"
                hint = did_you_mean(key, allowed) or f", which takes {takes}"
                message = f"does not belong to a step with {kind!r}{hint}"
                self.tree.error((*place, key), message)
        if raw.get("retries") and not KINDS[kind].is_retried:
            message = f"a step with {kind!r} is not tried again"
            self.tree.error((*place, "retries"), message)
        return kind

    def _condition(self, raw: Mapping[str, Any], place: Place) -> Code | None:
        if "condition" not in raw:
            return None
        code = self.expressions.condition((*place, "condition"), raw["condition"])
        return None if code is True else code

    def _repeat(self, raw: Mapping[str, Any], place: Place) -> Repeat | None:
        fields = raw.get("repeat")
        if not isinstance(fields, dict) or not isinstance(fields.get("from"), str):
            return None
        at, start = (*place, "repeat"), fields["from"]
        steps = self.expressions.scope.steps
        if start not in steps:
            hint = did_you_mean(start, steps)
            hint = hint or "; a jump leads back, to a step above or to this one"
            self.tree.error((*at, "from"), f"no step before here is {start!r}{hint}")
        when = self.expressions.condition((*at, "while"), fields.get("while", True))
        if "while" not in fields and "max" not in fields:
            message = "goes round for ever: say while it does so, or how often (max)"
            self.tree.error(at, message)
        most = fields.get("max", 10)
        says = fields.get("while", "")
        return Repeat(
            start,
            when,
            most if isinstance(most, int) else 0,
            bare(says, r"\1").strip() if isinstance(says, str) else "",
            # Without a condition it is counted: that many rounds are what is wanted.
            is_bound=when is not True and fields.get("then") != "go on",
        )

    def _question(
        self, reading: Reading, raw: Mapping[str, Any]
    ) -> tuple[Template, Template | None] | None:
        """What a person is asked before a step that does something else."""
        if "approval" not in raw:
            return None
        asked = replace(reading, raw={}, places={})
        parts = approval_parts(asked, raw["approval"])
        if parts.get("required") is False:
            return None
        asked.raw = parts
        text = asked.value("message") if "message" in parts else None
        timeout_s = asked.seconds("timeout") if "timeout" in parts else None
        return text or f"Go on with {reading.id}?", timeout_s
