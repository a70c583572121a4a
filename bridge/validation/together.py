"""Several validators in one request: one agent, one reading of the change. Pure.

The first of them is asked. Its task tells it to judge as the others, too, and its
answer has a member for each, in the form that this validator's definition wants. So
each is judged by its own schema, and each has a report of its own. Only validators with
the same rights go together: what one may do, the agent may do for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.agents.prompt import render_request
from bridge.errors import InvalidRequest
from bridge.protocol.contract import answer_schema
from bridge.protocol.json_schema import problem_of
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.validation.answers import no_report, report_of
from bridge.validation.report import ValidatorReport

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

# What must be the same in all of them.
_SAME = (
    "routes", "mode", "provider", "tools", "blocked_tools", "allow", "context",
    "subagent_type", "system_prompt", "default_variables", "lifecycle_variables",
    "lifecycle_variables_mode", "lifecycle_workflow", "has_no_rules", "base",
)  # fmt: skip
# What none of them may have: it is about one answer, or one conversation.
_NONE = (
    "script_tools", "node_context", "workflow", "workflows", "steps",
    "require_verified_evidence",
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
        timeout_s: the sum of their limits; None if one of them has none.
    """

    agent: str
    validators: tuple[str, ...]
    prompt: str
    schema: dict[str, Any]
    timeout_s: float | None


def together(
    definitions: Sequence[Definition], task: str, *, model: str | None = None
) -> Together:
    """One request for several validators.

    `model` is what the caller asks for; without that they must want the same.

    Raises:
        InvalidRequest: they do not go together, and why.
    """
    if len(definitions) < 2:  # noqa: PLR2004 - one is asked as it is
        raise InvalidRequest("fewer than two validators need not be asked together")
    first, *others = definitions
    for other in others:
        _check_same(first, other, model)
    for each in definitions:
        _check_alone(each)
    names = tuple(each.name for each in definitions)
    if len({*names}) < len(names):
        raise InvalidRequest(f"a validator is named twice: {', '.join(names)}")
    limits = [each.timeout_s for each in definitions if each.timeout_s is not None]
    return Together(
        agent=first.name,
        validators=names,
        prompt=_prompt(first, others, task),
        schema={
            "type": "object",
            "additionalProperties": False,
            "required": list(names),
            "properties": {
                each.name: answer_schema(each.output_schema) for each in definitions
            },
        },
        timeout_s=sum(limits) if len(limits) == len(definitions) else None,
    )


def reports_of(
    definitions: Sequence[Definition], response: Response
) -> tuple[ValidatorReport, ...]:
    """The report of each validator, from the response to the one request."""
    found = response.parsed_output
    parts = found if isinstance(found, dict) else {}
    reports = []
    for each in definitions:
        part = parts.get(each.name)
        problem = (
            None
            if response.error is not None or part is None
            else problem_of(answer_schema(each.output_schema), part)
        )
        if problem is not None:
            why = f"its part of the answer does not have its form: {problem}"
            report = no_report(each.name, why, code="schema_mismatch")
            reports.append(report.with_(request_id=response.request_id))
        else:
            own = response.with_(parsed_output=part)
            reports.append(report_of(each.name, own))
    return tuple(reports)


def _prompt(first: Definition, others: Sequence[Definition], task: str) -> str:
    shown = "".join(
        _OTHER.format(name=each.name, prompt=_instructions(each)) for each in others
    )
    names = [first.name, *(each.name for each in others)]
    return _ALSO.format(
        task=task,
        count=len(names),
        first=first.name,
        others=shown,
        names=", ".join(f'"{name}"' for name in names),
    )


def _instructions(definition: Definition) -> str:
    request = Request(request_id="together", prompt=_ABOVE)
    return render_request(definition, request).prompt


def _check_same(first: Definition, other: Definition, model: str | None) -> None:
    differing = [
        name
        for name in (*_SAME, *(() if model is not None else ("model",)))
        if _value(first, name) != _value(other, name)
    ]
    if differing:
        ways = ["ask them one by one"]
        if differing == ["model"]:
            ways.insert(0, "name a model for both")
        raise InvalidRequest(
            f"{first.name} and {other.name} cannot be asked together: they differ in "
            f"{', '.join(differing)}",
            ways=ways,
        )


def _check_alone(definition: Definition) -> None:
    having = [name for name in _NONE if getattr(definition, name)]
    if "$ref" in str(definition.output_schema):
        having.append("a $ref in output_schema")
    if having:
        raise InvalidRequest(
            f"{definition.name} cannot be asked together with others: it has "
            f"{', '.join(having)}",
            ways=("ask it alone",),
        )


def _value(definition: Definition, name: str) -> Any:
    value = getattr(definition, name)
    is_set = name in _UNORDERED and value is not None
    return frozenset(value) if is_set else value
