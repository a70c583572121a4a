"""Several validators in one request: one agent, one reading of the change. Pure.

The first of them is asked. Its task tells it to judge as the others, too, and its
answer has a member for each, in the form that this validator's definition wants. So
each is judged by its own schema, and each has a report of its own. Only validators with
the same rights go together: what one may do, the agent may do for all. Where they want
different models of the client, the most able of these is asked.

    grouped       which go together, found before anybody is asked
    together      the one request of those that the change needs
    reports_of    the report of each, from its response
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.errors import InvalidRequest
from bridge.protocol.contract import answer_schema
from bridge.protocol.json_schema import problem_of
from bridge.protocol.names import CLIENT_MODELS
from bridge.protocol.request import Request
from bridge.validation.answers import no_report, report_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.agents.definition import Definition
    from bridge.flow.details import ValidatorPart
    from bridge.protocol.response import Response
    from bridge.validation.report import ValidatorReport

# What must be the same in all of them.
_SAME = (
    "routes", "mode", "provider", "tools", "blocked_tools", "allow", "context",
    "subagent_type", "system_prompt", "default_variables", "lifecycle_variables",
    "lifecycle_variables_mode", "lifecycle_workflow", "has_no_rules", "base",
)  # fmt: skip
# What none of them may have: it is about one answer, or one conversation.
_NONE = (
    "script_tools", "node_context", "workflow", "workflows", "steps",
    "require_verified_evidence", "reuse",
)  # fmt: skip
_UNORDERED = ("routes", "tools", "blocked_tools", "allow", "context")
_ALSO = """\
{task}

Judge this as {count} validators, in one reading: as {first}, as you were told, and \
as those below. Each has its own list and its own verdict; what one of them finds does \
not change the verdict of another.
{others}
Your answer has a member for each of them: {names}. In the member of a validator is \
the whole answer that this validator gives."""
_OTHER = """
## {name}

{prompt}
"""
_ABOVE = "the task above."


@dataclass(frozen=True, slots=True)
class Together:
    """One request in place of several.

    Attributes:
        agent: whom to ask.
        validators: the names of those who answer in it, `agent` first.
        prompt: the task.
        schema: the form of the answer: a member for each validator.
        model: whom they want; None if none of them says.
    """

    agent: str
    validators: tuple[str, ...]
    prompt: str
    schema: dict[str, Any]
    model: str | None


def grouped(
    definitions: Sequence[Definition],
) -> tuple[dict[str, ValidatorPart], dict[str, str]]:
    """Which of them can be asked together, and why the rest is asked alone.

    Those with the same `group` can; no group has only one.
    """
    alone: dict[str, str] = {}
    parts: dict[str, ValidatorPart] = {}
    firsts: list[Definition] = []
    for each in definitions:
        why, prompt = _why_alone(each), ""
        if not why:
            try:
                prompt = _instructions(each)
            except InvalidRequest as exc:
                why = exc.what
        if why:
            alone[each.name] = why
            continue
        fits = (n for n, first in enumerate(firsts) if not _differing(first, each))
        if (group := next(fits, None)) is None:
            group = len(firsts)
            firsts.append(each)
        parts[each.name] = {
            "group": group,
            "prompt": prompt,
            "schema": answer_schema(each.output_schema),
            "model": each.model,
        }
    members = [part["group"] for part in parts.values()]
    for group, first in enumerate(firsts):
        if members.count(group) == 1:
            del parts[first.name]
            alone[first.name] = _why_none(first, firsts)
    return parts, alone


def together(parts: Mapping[str, ValidatorPart], task: str) -> Together:
    """One request for several validators of one group, two at least, by their names."""
    first, *others = parts
    shown = "".join(
        _OTHER.format(name=name, prompt=parts[name]["prompt"]) for name in others
    )
    return Together(
        agent=first,
        validators=(first, *others),
        prompt=_ALSO.format(
            task=task,
            count=len(parts),
            first=first,
            others=shown,
            names=", ".join(f'"{name}"' for name in parts),
        ),
        schema={
            "type": "object",
            "additionalProperties": False,
            "required": [*parts],
            "properties": {name: part["schema"] for name, part in parts.items()},
        },
        model=_most_able([part["model"] for part in parts.values()]),
    )


def reports_of(
    parts: Mapping[str, ValidatorPart], response: Response
) -> tuple[ValidatorReport, ...]:
    """The report of each validator, from the response to the one request."""
    found = response.parsed_output
    members = found if isinstance(found, dict) else {}
    reports = []
    for name, part in parts.items():
        member = members.get(name)
        problem = (
            None
            if response.error is not None or member is None
            else problem_of(part["schema"], member)
        )
        if problem is not None:
            why = f"its part of the answer does not have its form: {problem}"
            report = no_report(name, why, code="schema_mismatch")
            reports.append(report.with_(request_id=response.request_id))
        else:
            own = response.with_(parsed_output=member)
            reports.append(report_of(name, own))
    return tuple(reports)


def _instructions(definition: Definition) -> str:
    # Late, as hooks import this module: it imports jinja2.
    from bridge.agents.prompt import render_request

    variables = {**definition.default_variables, **definition.lifecycle_variables}
    request = Request(request_id="together", prompt=_ABOVE, variables=variables)
    return render_request(definition, request).prompt


def _why_alone(definition: Definition) -> str:
    having = [name for name in _NONE if getattr(definition, name)]
    if "$ref" in str(definition.output_schema):
        having.append("a $ref in output_schema")
    return f"it has {', '.join(having)}" if having else ""


def _why_none(first: Definition, firsts: Sequence[Definition]) -> str:
    """Why nobody is in one group with it."""
    others = [other for other in firsts if other is not first]
    if not others:
        return "there is no other that could be asked with it"
    differing = ", ".join(_differing(first, others[0]))
    return f"it differs from {others[0].name} in {differing}"


def _differing(first: Definition, other: Definition) -> list[str]:
    names = [name for name in _SAME if _value(first, name) != _value(other, name)]
    models = {first.model, other.model}
    if len(models) > 1 and not models <= {*CLIENT_MODELS}:
        names.append("model")
    return names


def _most_able(models: Sequence[str | None]) -> str | None:
    """The model that is enough for all: they are the same, or all of the client."""
    known = [model for model in CLIENT_MODELS if model in models]
    return known[-1] if known else models[0]


def _value(definition: Definition, name: str) -> Any:
    value = getattr(definition, name)
    is_set = name in _UNORDERED and value is not None
    return frozenset(value) if is_set else value
