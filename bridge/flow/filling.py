"""A text of a plan with its values put in: once, and never read again. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge.flow.details import Detail, Part, TemporaryAgent
    from bridge.flow.plan import Plan


def instruction_of(plan: Plan, detail: Detail) -> list[Part]:
    """What a step says: a temporary agent's own prompt first."""
    parts = detail.get("text", [])
    if "own" not in detail:
        return parts
    prompt = plan["agents"][detail["own"]]["prompt"]
    return [*prompt, "\n\n", *parts] if parts else prompt


def has_variables(agent: TemporaryAgent) -> bool:
    """Whether the prompt of a temporary agent is another one at each call."""
    return any(not isinstance(part, str) and "var" in part for part in agent["prompt"])


def filled(
    parts: Iterable[Part],
    *,
    variables: Mapping[str, Any],
    answers: Mapping[str, Any],
    params: Mapping[str, str],
) -> str:
    """What an agent is asked.

    Args:
        parts: the text.
        variables: what each step made, by name: a text, or any JSON.
        answers: the whole answers, for their fields.
        params: what the flow was given. A parameter that is not among them, and has no
            default in the text, is empty, as is everything else that is not there.
    """
    return "".join(_value(part, variables, answers, params) for part in parts)


def _value(
    part: Part,
    variables: Mapping[str, Any],
    answers: Mapping[str, Any],
    params: Mapping[str, str],
) -> str:
    if isinstance(part, str):
        return part
    if "param" in part:
        return as_text(params.get(part["param"], part["default"]))
    if not part["path"]:
        return as_text(variables.get(part["var"]))
    value = answers.get(part["var"])
    for key in part["path"]:
        if isinstance(value, list) and key in map(str, range(len(value))):
            value = value[int(key)]
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return as_text(value)


def as_text(value: Any) -> str:
    """A text as it is, nothing for null, everything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
