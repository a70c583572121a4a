"""What the texts of a flow are as templates, and values as texts. Pure.

{name}  {name.field}    ["get", 0, ["name", 0, "said"], "name.field"], a text
{{name}}                ["get", 0, ["name", 0, "inputs"], "name"]
{{name:default}}        the same, and its default where that is null
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bridge.policy.condition import operations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.flow.details import Detail, Template, TemporaryAgent
    from bridge.flow.plan import Plan


def reference(name: str, path: tuple[str, ...] = ()) -> Template:
    """What a step made, or a field of its answer; empty if it is not there."""
    return ["get", 0, ["name", 0, "said"], ".".join((name, *path))]


def parameter(name: str, default: str | None) -> Template:
    """A parameter; empty where nobody gives it and it has no default."""
    value = ["get", 0, ["name", 0, "inputs"], name]
    if default is None:
        return value
    return ["if", 0, ["compare", 0, value, "is", None], default, value]


def joined(parts: list[Template]) -> Template:
    """One template of several parts."""
    if len(parts) < 2:  # noqa: PLR2004 - one is the template itself
        return parts[0] if parts else ""
    return ["text", 0, *parts]


def written(template: Template) -> str:
    """A text as a flow has it, references in their braces."""
    match template:
        case ["text", _, *parts]:
            return "".join(map(written, parts))
        case ["get", _, ["name", _, "said"], name]:
            return f"{{{name}}}"
        case ["get", _, _, name]:
            return f"{{{{{name}}}}}"
        case ["if", _, _, default, ["get", _, _, name]]:
            return f"{{{{{name}:{default}}}}}"
    return as_text(template)


def references_in(template: Template) -> Iterator[str]:
    """The variables that a text asks for, in order."""
    for each in operations(template):
        match each:
            case ["get", _, ["name", _, "said"], str(name)]:
                yield name.partition(".")[0]


def instruction_of(plan: Plan, detail: Detail) -> Template:
    """What a step says: a temporary agent's own prompt first."""
    said = detail.get("prompt", "")
    if "own" not in detail:
        return said
    prompt = plan["agents"][detail["own"]]["prompt"]
    return ["text", 0, prompt, "\n\n", said] if said else prompt


def has_variables(agent: TemporaryAgent) -> bool:
    """Whether the prompt of a temporary agent is another one at each call."""
    return any(True for _ in references_in(agent["prompt"]))


def as_text(value: Any) -> str:
    """A text as it is, nothing for null, everything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
